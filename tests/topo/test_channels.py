# SPDX-License-Identifier: Apache-2.0
"""Channels: rings visit each rank once, no link is overloaded, and the answer follows the wires."""

import re

import pytest

from railgauge.topo.channels.group import group_of
from railgauge.topo.channels.load import loads
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.host_ranks import cores_of, shares
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.predict.search import search
from railgauge.topo.values.numa_node import NumaNode
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.topology import Topology

H200 = topology_file.dumps(load_machine("@h200x4").topology)


def total(graph):
    return len(graph.channels) * graph.gb_per_s_intra


def assert_sound(system, ring, nodes=1):
    assert 1 <= len(ring.channels) <= 32
    for channel in ring.channels:
        assert sorted(channel.ranks) == list(range(len(system.ranks)))
    for load in loads(group_of(system, paths(system), nodes), ring):
        assert load.gb_per_s <= load.link.gb_per_s + 0.01


def test_h200x4_ring_is_sound():
    system = build_system(topology_file.loads(H200))
    assert_sound(system, search(system).ring)


def test_a_lost_nvlink_changes_the_answer():
    whole = search(build_system(topology_file.loads(H200))).ring
    system = build_system(topology_file.loads(H200.replace('count="18"', 'count="17"', 1)))
    ring = search(system).ring
    assert_sound(system, ring)
    assert total(ring) < total(whole)
    assert total(ring) <= 17 * 20.6


def test_a_lost_gpu_changes_the_answer():
    text = re.sub(r' *<pci busid="0000:00:09.0".*?</pci>\n', "", H200, flags=re.DOTALL)
    system = build_system(topology_file.loads(text))
    ring = search(system).ring
    assert_sound(system, ring)
    assert {channel.ranks for channel in ring.channels} == {(0, 1, 2)}


def test_no_nvlink_leaves_the_pci_bus():
    system = build_system(topology_file.loads(re.sub(r" *<nvlink[^>]*/>\n", "", H200)))
    ring = search(system).ring
    assert_sound(system, ring)
    assert ring.type_intra == "PHB"
    assert total(ring) < 50


def test_several_nodes_go_out_by_the_nic():
    system = build_system(topology_file.loads(H200))
    ring = search(system, nodes=2).ring
    assert_sound(system, ring, nodes=2)
    assert ring.channels[0].nets == (0, 0)
    assert total(ring) <= 1.25


def test_ranks_follow_the_rank_attribute():
    text = H200.replace('rank="0"', 'rank="9"').replace('rank="3"', 'rank="0"').replace('rank="9"', 'rank="3"')
    system = build_system(topology_file.loads(text))
    assert [node.dev for node in system.ranks] == [3, 1, 2, 0]


def test_ranks_without_sense_follow_the_file():
    system = build_system(topology_file.loads(H200.replace('rank="3"', 'rank="7"')))
    assert [node.rank for node in system.ranks] == [0, 1, 2, 3]


def test_without_gpus_nothing_is_planned_for_them():
    topology = topology_file.loads('<system version="1"><cpu numaid="0" arch="x86_64"/></system>')
    with pytest.raises(UnavailableError, match="--device cpu"):
        search(build_system(topology))


def test_without_nic_there_is_one_node():
    topology = topology_file.loads(re.sub(r" *<nic>.*?</nic>\n", "", H200, flags=re.DOTALL))
    with pytest.raises(UnavailableError, match="NIC"):
        search(build_system(topology), nodes=2)


def test_sixteen_gpus_take_less_than_a_second():
    card = '<pci busid="0000:{0:02x}:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">'
    inside = '<gpu dev="{1}" sm="80" rank="{1}" gdr="1">{2}</gpu></pci>'
    for nvlink in ("", '<nvlink target="fffffff:ff:ff.0" count="12" tclass="0x068000"/>'):
        cards = "".join((card + inside).format(i + 1, i, nvlink) for i in range(16))
        system = build_system(
            topology_file.loads(f'<system version="1"><cpu numaid="0" arch="x86_64">{cards}</cpu></system>')
        )
        ring = search(system).ring
        assert_sound(system, ring)
        assert ring.search_ms < 5000  # well below 1 s on an idle core; this one may be shared


def host(*nodes: int) -> Topology:
    cpus, numa, first = "", [], 0
    for number, cores in enumerate(nodes):
        cpus += f'<cpu numaid="{number}" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"/>'
        numa.append(NumaNode(id=number, cpus=tuple(range(first, first + cores))))
        first += cores
    root = topology_file.loads(f'<system version="1">{cpus}</system>').root
    return Topology(root=root, numa=tuple(numa))


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 64])
@pytest.mark.parametrize("nodes", [(2,), (16,), (1, 1), (8, 8), (4, 12)])
def test_host_ranks_have_rings(ranks, nodes):
    system = build_system(host(*nodes), host_ranks=ranks)
    assert [node.rank for node in system.ranks] == list(range(ranks))
    ring = search(system).ring
    assert_sound(system, ring)
    assert all(node.cpus for node in system.ranks)
    if ranks > 1 and len(nodes) > 1:
        assert {node.numa for node in system.ranks} == {0, 1}
        assert ring.type_intra == "SYS"


def test_host_ranks_sit_in_order_of_numa_nodes():
    system = build_system(host(4, 4), host_ranks=4)
    assert [node.numa for node in system.ranks] == [0, 0, 1, 1]
    assert [node.cpus for node in system.ranks] == [(0, 1), (2, 3), (4, 5), (6, 7)]


def test_more_ranks_than_cores_share_them():
    system = build_system(host(2), host_ranks=5)
    assert all(node.cpus == (0, 1) for node in system.ranks)


def test_host_ranks_of_a_gpu_machine_leave_the_gpus_alone():
    system = build_system(load_machine("@h200x4").topology, host_ranks=2)
    assert [node.kind for node in system.ranks] == ["HOST", "HOST"]
    assert system.ranks[1].cpus == tuple(range(32, 64))


def test_a_numa_node_without_devices_still_seats_ranks():
    topology = host(4, 4)
    one = topology_file.loads(
        '<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="175"/></system>'
    )
    system = build_system(Topology(root=one.root, numa=topology.numa), host_ranks=2)
    assert [node.numa for node in system.ranks] == [0, 1]
    assert paths(system).get("HOST/0-0", "HOST/0-1").gb_per_s <= 16


@pytest.mark.parametrize("count", [0, -1, 5000])
def test_impossible_host_ranks_are_a_usage_error(count):
    with pytest.raises(UsageError):
        build_system(host(2), host_ranks=count)


def test_shares_are_in_proportion():
    assert shares(8, [4, 4]) == [4, 4]
    assert shares(3, [4, 4]) == [2, 1]
    assert shares(4, [4, 12]) == [1, 3]
    assert shares(3, [0, 0]) == [2, 1]


def test_cores_are_split_or_shared():
    assert cores_of((0, 1, 2, 3), 2, 1) == (2, 3)
    assert cores_of((0, 1), 3, 2) == (0, 1)
