# SPDX-License-Identifier: Apache-2.0
"""One message between two ranks: memory, sockets and the wire set the limit in turn."""

import pytest

from railgauge.collectives.cost.host_cost import message_cost
from railgauge.collectives.cost.host_ranks import BY_MEMORY, BY_RDMA, BY_SOCKET, HostRanks, Medium

LONG = 8 << 20
MEDIA = (BY_MEMORY, BY_RDMA, BY_SOCKET)


def gb_per_s(medium: Medium, size: int = LONG, **where) -> float:
    return size / message_cost(HostRanks(**{"ranks": 2, "cores": 2, "medium": medium} | where), size).time_us / 1e3


def test_the_slower_of_socket_and_wire_sets_the_limit():
    assert gb_per_s(BY_MEMORY) > gb_per_s(BY_SOCKET) > gb_per_s(BY_SOCKET, net_gb_per_s=1.25)
    assert gb_per_s(BY_SOCKET, net_gb_per_s=1.25) == pytest.approx(1.25, rel=0.01)
    assert gb_per_s(BY_SOCKET, net_gb_per_s=50.0) == gb_per_s(BY_SOCKET)


def test_rdma_passes_what_the_wire_does_and_is_quicker_than_sockets():
    assert gb_per_s(BY_RDMA, net_gb_per_s=25.0) == pytest.approx(25.0, rel=0.01)
    times = [message_cost(HostRanks(ranks=2, cores=2, net_gb_per_s=25.0, medium=medium), 8).time_us for medium in MEDIA]
    assert times == sorted(times)


def test_what_no_cache_holds_is_slower():
    assert gb_per_s(BY_MEMORY, 64 << 20) < 0.5 * gb_per_s(BY_MEMORY)


def test_ranks_that_share_cores_take_turns():
    assert gb_per_s(BY_MEMORY, ranks=8) == pytest.approx(gb_per_s(BY_MEMORY) / 4, rel=0.05)
    short = [message_cost(HostRanks(ranks=ranks, cores=2, medium=BY_MEMORY), 8).time_us for ranks in (2, 8)]
    assert short[1] > 10 * short[0]
