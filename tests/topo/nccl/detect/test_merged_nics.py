# SPDX-License-Identifier: Apache-2.0
"""Ports of one card as one NIC: on one device, on functions of one, at most four, on each host by itself."""

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.nccl.detect.merged_nics import merge_nics
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.xml import topology_file

LINK = 'link_speed="16.0 GT/s PCIe" link_width="16"'


def net(dev: int, *more: str) -> str:
    return f'<net name="p{dev}" dev="{dev}" speed="100000" port="1" {" ".join(more)}/>'


def card(bus_id: str, *ports: str) -> str:
    return f'<pci busid="{bus_id}" class="0x020000" {LINK}><nic>{"".join(ports)}</nic></pci>'


def switch(*devices: str) -> str:
    return f'<pci busid="0000:01:00.0" class="0x060400" {LINK}>{"".join(devices)}</pci>'


def merged(*devices: str, cpu: str = 'numaid="0" arch="x86_64"'):
    return merge_nics(topology_file.loads(f'<system version="1"><cpu {cpu}>{"".join(devices)}</cpu></system>'))


def used(topology):
    return [e.get("name") for e in topology.root.walk() if e.name == "net" and e.get("net") != "0"]


def test_ports_of_one_device_become_one_after_them():
    topology = merged(card("0000:02:00.0", net(0), net(1)), card("0000:03:00.0", net(2)))
    assert used(topology) == ["p0+p1", "p2"]
    made = next(e for e in topology.root.walk() if e.get("name") == "p0+p1")
    assert (made.get("dev"), made.get("speed")) == ("3", "200000")


def test_functions_of_one_card_become_one_on_a_device_of_their_own():
    topology = merged(switch(card("0000:02:00.0", net(0)), card("0000:02:00.1", net(1))))
    holder = topology.cpus[0].children[0].children[-1]
    assert (holder.get("busid"), holder.get("class"), holder.get("link_width")) == ("0000:02:00.2", "0x020000", "16")
    assert used(topology) == ["p0+p1"]
    assert [node.bus_id for node in build_system(topology).kind("NIC")] == [
        "0000:02:00.0",
        "0000:02:00.1",
        "0000:02:00.2",
    ]


def test_functions_right_below_a_cpu_do_so_too():
    assert used(merged(card("0000:02:00.0", net(0)), card("0000:02:00.1", net(1)))) == ["p0+p1"]


def test_cards_beside_each_other_stay_apart():
    assert used(merged(switch(card("0000:02:00.0", net(0)), card("0000:03:00.0", net(1))))) == ["p0", "p1"]


def test_a_card_takes_four_ports_at_most():
    assert used(merged(card("0000:02:00.0", *map(net, range(6))))) == ["p0+p1+p2+p3", "p4+p5"]


def test_ports_go_together_in_the_order_of_their_numbers():
    assert used(merged(card("0000:02:00.0", net(1), net(0)))) == ["p0+p1"]


def test_merging_twice_changes_nothing():
    once = merged(
        switch(card("0000:02:00.0", net(0)), card("0000:02:00.1", net(1))), card("0000:04:00.0", net(2), net(3))
    )
    assert topology_file.dumps(merge_nics(once)) == topology_file.dumps(once)


def test_each_host_counts_by_itself():
    cpus = "".join(
        f'<cpu host_hash="{host}" numaid="0" arch="x86_64">{card("0000:02:00.0", net(0), net(1))}</cpu>'
        for host in ("0x1", "0x2")
    )
    topology = merge_nics(topology_file.loads(f'<system version="1">{cpus}</system>'))
    assert [e.get("dev") for e in topology.root.walk() if e.get("name") == "p0+p1"] == ["2", "2"]


def test_a_dev_that_is_no_number_names_its_line():
    with pytest.raises(InputError, match="dev is 'x'"):
        merged(card("0000:02:00.0", '<net name="a" dev="x"/>'))
