# SPDX-License-Identifier: Apache-2.0
"""PCI links in words, and what is wrong with them: by what sysfs says they run at, or by their like in an XML."""

import pytest
from tests.topo.small_machines import C2C, gpu

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.machine import load_machine
from railgauge.topo.pci_wires import link_text, pci_wires
from railgauge.topo.xml import topology_file

IDS = 'vendor="0x15b3" device="0x1017" subsystem_vendor="0x15b3" subsystem_device="0x0008"'


@pytest.mark.parametrize(
    ("gt_per_s", "lanes", "text"),
    [
        (32.0, 16, "x16 Gen5"),
        (64.0, 8, "x8 Gen6"),
        (7.0, 4, "x4 7 GT/s"),
        (None, 16, "x16"),
        (8.0, None, "Gen3"),
        (None, None, ""),
    ],
)
def test_links_have_the_words_people_use(gt_per_s, lanes, text):
    assert link_text(gt_per_s, lanes) == text


def nic(bus: str, dev: int, lanes: int, mbps: int = 100_000, speed: str = "16.0 GT/s PCIe") -> str:
    net = f'<nic><net name="n{dev}" dev="{dev}" speed="{mbps}" port="1"/></nic>'
    return f'<pci busid="{bus}" class="0x020000" {IDS} link_speed="{speed}" link_width="{lanes}">{net}</pci>'


def wires_of(inside: str, head: str = ""):
    return pci_wires(topology_file.loads(f'<system version="1"><cpu numaid="0">{head}{inside}</cpu></system>'))


def test_a_card_narrower_than_its_twin_is_told():
    wires = wires_of(nic("0000:01:00.0", 0, 8) + nic("0000:02:00.0", 1, 16))
    assert wires[0, "0000:01:00.0"].problem == "its twins: x16 Gen4"
    assert wires[0, "0000:02:00.0"].problem is None


def test_a_port_faster_than_its_link_is_told_with_both_figures():
    wire = wires_of(nic("0000:01:00.0", 0, 4, 200_000))[0, "0000:01:00.0"]
    assert wire.reason == "carries 6 GB/s, a port of it 25"


@pytest.mark.parametrize(("mbps", "speed", "lanes"), [(100_000, "8.0 GT/s PCIe", 16), (400_000, "32.0 GT/s PCIe", 16)])
def test_a_card_made_for_its_link_is_not_narrow(mbps, speed, lanes):
    assert wires_of(nic("0000:01:00.0", 0, lanes, mbps, speed))[0, "0000:01:00.0"].problem is None


@pytest.mark.parametrize(("lanes", "problem"), [(1, "narrow uplink"), (8, None), (16, None), (0, None)])
def test_a_switch_with_less_than_what_is_below_is_told(lanes, problem):
    head = f'<pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="{lanes}">'
    assert wires_of(nic("0000:02:00.0", 0, 16) + "</pci>", head)[0, "0000:01:00.0"].problem == problem


def test_a_gpu_with_another_way_to_the_cpu_needs_no_wide_uplink():
    card = gpu("0000:02:00.0", 0, C2C, sm=100)
    head = '<pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="1">'
    assert wires_of(card + "</pci>", head)[0, "0000:01:00.0"].problem is None


def test_hosts_with_the_same_bus_ids_are_kept_apart():
    cpus = "".join(f'<cpu host_hash="0x{i}" numaid="0">{nic("0000:01:00.0", 0, 8 * i)}</cpu>' for i in (1, 2))
    wires = pci_wires(topology_file.loads(f'<system version="1">{cpus}</system>'))
    assert [wires[host, "0000:01:00.0"].lanes for host in (0, 1)] == [8, 16]


def test_a_link_that_came_up_with_fewer_lanes_is_told():
    machine = load_machine("@dgx-h100-nic-x8")
    wires = pci_wires(machine.topology, MachineFacts(machine.reader))
    bad = {key: wire for key, wire in wires.items() if wire.problem}
    assert list(bad) == [(0, "0000:18:00.0")]
    assert bad[0, "0000:18:00.0"].reason == "runs x8 Gen5, both ends can do x16 Gen5"


def test_a_link_that_only_sleeps_is_not_wrong():
    machine = load_machine("@h200x4")
    assert not any(wire.problem for wire in pci_wires(machine.topology, MachineFacts(machine.reader)).values())
