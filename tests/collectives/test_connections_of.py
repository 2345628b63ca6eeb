# SPDX-License-Identifier: Apache-2.0
"""The connections of a run, told by their channel and their ends."""

from types import SimpleNamespace

import numpy as np
from tests.collectives.wiring import over_rings
from tests.transports.ranks import on_ranks

from railgauge.collectives.document import connections_of
from railgauge.topo.errors import RunError


def test_each_connection_of_each_channel_is_listed_with_what_it_moved():
    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1, 2], [2, 1, 0]])
        comm.all_reduce(np.ones(600_000))
        return connections_of(comm, bootstrap)

    found = on_ranks(3, body)
    assert found[0] == found[1] == found[2]
    assert [(one.channel, one.from_rank, one.to_rank) for one in found[0]] == [
        *((0, 0, 1), (0, 1, 2), (0, 2, 0)),
        *((1, 0, 2), (1, 1, 0), (1, 2, 1)),
    ]
    assert {(one.via, one.planned) for one in found[0]} == {("SHM", "SHM")}
    assert all(one.bytes_sent == one.bytes_received > 0 for one in found[0])


def test_ends_that_disagree_are_named_with_what_each_counted():
    """Rank 1 sent 8 bytes more on channel 1 than rank 0 received there, by its own count."""

    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1], [1, 0]])
        ends = {
            wire: SimpleNamespace(
                via=end.via, bytes=64 + 8 * (wire.channel == 1 and wire.source == 1 == bootstrap.rank)
            )
            for wire, end in comm.ends.items()
        }
        return connections_of(SimpleNamespace(ends=ends), bootstrap)

    for found in on_ranks(2, body):
        assert isinstance(found, RunError)
        assert str(found) == "channel 1: rank 1 sent 72 bytes to rank 0, which received 64"
