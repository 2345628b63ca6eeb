# SPDX-License-Identifier: Apache-2.0
"""Interfaces without a PCI device, which NCCL's dumps list below the CPU of each rank: one NIC, listed often."""

from itertools import product

import pytest
from tests.topo.findings.topology_file.topology_text import findings
from tests.topo.small_machines import gpu, topology

from railgauge.topo.channels.graph import Policy
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.predict.search import search
from railgauge.topo.xml import topology_file

INTERFACES = range(1, 16)


def sockets(numbers=INTERFACES, mbps=10000):
    nets = "".join(
        f'<net name="cali{n}" dev="{n}" latency="0" speed="{mbps}" port="0" guid="{n:#x}" maxconn="65536" gdr="0"/>'
        for n in numbers
    )
    return f"<nic>{nets}</nic>"


@pytest.fixture
def dumped():
    """Four GPUs, each below its own CPU, with 15 virtual interfaces, as NCCL 2.28 dumps such a host."""
    return topology(*(gpu(f"0000:{n}1:00.0", n, sm=89, gdr=0) + sockets() for n in range(4)), vendor="AuthenticAMD")


def test_an_interface_is_one_nic_of_its_own_speed(dumped):
    system = build_system(dumped)
    assert [net.dev for net in system.nets] == list(INTERFACES)
    assert [net.dev for net in system.listed_nets] == [*INTERFACES] * 4
    table = paths(system)
    for one, net in product(system.gpus, system.nets):
        assert table.get(one.id, net.id).gb_per_s == 1.25


def test_nccl_gives_each_channel_an_interface_of_its_own(dumped):
    ring = search(build_system(dumped), nodes=2, policy=Policy.NCCL).ring
    assert (len(ring.channels), ring.gb_per_s_inter) == (13, 1.2)
    assert [channel.nets for channel in ring.channels] == [(n, n) for n in range(1, 14)]


def test_best_carries_what_the_interfaces_carry_once(dumped):
    system = build_system(dumped)
    ring = search(system, nodes=2).ring
    assert ring.total(2) == pytest.approx(15 * 1.25)
    assert ring.bound.gb_per_s == pytest.approx(15 * 1.25)


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        pytest.param(sockets([1]), sockets([1]), 0, id="below each CPU"),
        pytest.param(sockets([1]), sockets([1], mbps=1000), 2, id="of other speeds"),
        pytest.param(sockets([1, 1]), "", 2, id="twice below one CPU"),
    ],
)
def test_lint_names_interfaces_that_are_twice_where_nccl_does_not_list_them_so(tmp_path, first, second, found):
    given = topology(gpu("0000:01:00.0", 0) + first, gpu("0000:81:00.0", 1) + second)
    assert sum(one.id == "net-duplicate" for one in findings(tmp_path, topology_file.dumps(given))) == found
