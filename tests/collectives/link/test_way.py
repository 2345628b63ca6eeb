# SPDX-License-Identifier: Apache-2.0
"""Which ways join which ranks: memory within a host, sockets by rail."""

from dataclasses import replace

import pytest

from railgauge.collectives.link.way import Port, Way, rails, ways
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.transports.peer import this_peer

ETH0, ETH1 = Port("eth0", "10.0.0.0/24", 12.5), Port("eth1", "10.0.1.0/24", 12.5, 1)
MLX0, MLX1 = (Port(f"mlx5_{n}", f"10.1.{n}.0/24", 50.0, n, "NET/IB") for n in range(2))


def peers(*hosts: str):
    return [replace(this_peer(rank), host=host, host_id=host) for rank, host in enumerate(hosts)]


def joined(way: Way, ranks: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(ranks) for b in range(a + 1, ranks) if way.joins(a, b)]


def test_memory_joins_ranks_of_a_host_and_sockets_all():
    shm, net = ways(peers("a", "b", "a"), [[ETH0]] * 3, None)
    assert (shm.transport, joined(shm, 3), shm.step(0, 2)) == ("SHM", [(0, 2)], None)
    assert (net.transport, joined(net, 3), net.step(0, 1)) == ("NET/Socket", [(0, 1), (0, 2), (1, 2)], [0, 0])
    assert [net.crosses(0, 1), net.crosses(0, 2)] == [True, False]


def test_every_rail_joins_hosts_and_one_is_enough_within_a_host():
    _, first, second = ways(peers("a", "a", "b"), [[ETH0, ETH1]] * 3, None)
    assert joined(first, 3) == [(0, 1), (0, 2), (1, 2)]
    assert joined(second, 3) == [(0, 2), (1, 2)]
    assert second.step(0, 2) == [1, 1]


def test_rdma_devices_join_by_rail_within_a_host_too():
    two = [[ETH0, MLX0, MLX1]] * 3
    _, _, first, second = ways(peers("a", "a", "b"), two, None)
    assert [(way.transport, way.rail) for way in (first, second)] == [("NET/IB", 0), ("NET/IB", 1)]
    assert joined(first, 3) == joined(second, 3) == [(0, 1), (0, 2), (1, 2)]
    assert second.step(0, 2) == [1, 1]


def test_a_rail_is_a_network_whatever_the_interfaces_are_numbered():
    swapped = [replace(ETH1, device=0), replace(ETH0, device=1)]
    assert rails([[ETH0, ETH1], swapped]) == [(0, 1), (1, 0)]


def test_where_networks_are_each_hosts_own_the_number_counts():
    own = [[Port("eth0", f"10.0.{host}.0/31", None), Port("eth1", f"10.1.{host}.0/31", None, 1)] for host in range(3)]
    assert rails(own) == [(0, 0, 0), (1, 1, 1)]
    assert rails([own[0], own[1][:1]]) == [(0, 0), (1, None)]


def test_one_transport_alone_can_be_asked_for():
    assert [way.transport for way in ways(peers("a", "a"), [[ETH0]] * 2, "SHM")] == ["SHM"]
    with pytest.raises(UsageError, match="transports are SHM, NET/Socket, NET/IB"):
        ways(peers("a", "a"), [[ETH0]] * 2, "NET/XY")
    with pytest.raises(UnavailableError, match="NET/IB connects none of these 2 ranks: rank 1 on b: it is DOWN"):
        ways(peers("a", "b"), [[ETH0]] * 2, "NET/IB", "rank 1 on b: it is DOWN")
    with pytest.raises(UnavailableError, match="SHM connects none of these 2 ranks"):
        ways(peers("a", "b"), [[ETH0]] * 2, "SHM")
