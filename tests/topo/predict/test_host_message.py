# SPDX-License-Identifier: Apache-2.0
"""One message between two ranks: memory, sockets and the wire set the limit in turn."""

import pytest

from railgauge.topo.predict.host_message import message_cost
from railgauge.topo.predict.host_ranks import HostRanks

LONG = 8 << 20


def gb_per_s(by_socket: bool, size: int = LONG, **where) -> float:
    return size / message_cost(HostRanks(**{"ranks": 2, "cores": 2} | where), size, by_socket=by_socket).time_us / 1e3


def test_the_slower_of_socket_and_wire_sets_the_limit():
    assert gb_per_s(False) > gb_per_s(True) > gb_per_s(True, net_gb_per_s=1.25)
    assert gb_per_s(True, net_gb_per_s=1.25) == pytest.approx(1.25, rel=0.01)
    assert gb_per_s(True, net_gb_per_s=50.0) == gb_per_s(True)


def test_what_no_cache_holds_is_slower():
    assert gb_per_s(False, 64 << 20) < 0.5 * gb_per_s(False)


def test_ranks_that_share_cores_take_turns():
    assert gb_per_s(False, ranks=8) == pytest.approx(gb_per_s(False) / 4, rel=0.05)
    short = [message_cost(HostRanks(ranks=ranks, cores=2), 8, by_socket=False).time_us for ranks in (2, 8)]
    assert short[1] > 10 * short[0]
