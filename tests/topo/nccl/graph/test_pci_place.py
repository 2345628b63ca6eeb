# SPDX-License-Identifier: Apache-2.0
"""How two devices reach each other over PCI, in nvidia-smi's words, from their places in the tree."""

import pytest
from tests.topo.small_machines import gpu, net, nic, switch

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.pci_place import PciPlace, numbered_cpus, places, relation
from railgauge.topo.xml import topology_file


def place(bus: str, *switches: str, cpu: int = 0, host: int = 0, bridge: str | None = None) -> PciPlace:
    return PciPlace(host=host, cpu=cpu, switches=switches, bus_id=bus, bridge=bridge)


@pytest.mark.parametrize(
    ("a", "b", "letters"),
    [
        (place("0:02.0", "s"), place("0:03.0", "s"), "PIX"),
        (place("0:02.0", "s", "t"), place("0:03.0", "s"), "PXB"),
        (place("0:02.0", "s", "t"), place("0:03.0", "s", "u"), "PXB"),
        (place("0:02.0", "s"), place("0:03.0", "t"), "PHB"),
        (place("0:02.0"), place("0:03.0"), "PHB"),
        (place("0:02.0"), place("0:02.1"), "PIX"),
        (place("0:02.0", bridge="pci0:0"), place("0:03.0", bridge="pci0:0"), "PHB"),
        (place("0:02.0", bridge="pci0:0"), place("0:03.0", bridge="pci0:1"), "NODE"),
        (place("0:02.0", bridge="pci0:0"), place("0:03.0"), "PHB"),
        (place("0:02.0"), place("0:03.0", cpu=1), "SYS"),
        (place("0:02.0"), place("", host=1), "N/A"),
        (place("0:02.0"), place(""), "PHB"),
    ],
)
def test_letters(a, b, letters):
    assert relation(a, b) == letters
    assert relation(b, a) == letters


def test_places_of_an_xml_have_their_switches_and_no_bridge():
    inside = switch("0000:01:00.0", switch("0000:02:00.0", gpu("0000:03:00.0", 0)), nic("0000:04:00.0", 0)) + net(1)
    found = places(topology_file.loads(f'<system version="1"><cpu numaid="0" arch="arm64">{inside}</cpu></system>'))
    assert found[0, "0000:03:00.0"].switches == ("0000:01:00.0", "0000:02:00.0")
    assert found[0, "0000:04:00.0"] == place("0000:04:00.0", "0000:01:00.0")
    assert found[0, ""] == place("")


def test_places_of_a_capture_have_their_host_bridge():
    machine = load_machine("@h200x4")
    found = places(machine.topology, MachineFacts(machine.reader))
    assert found[0, "0000:00:06.0"].bridge == "pci0000:00"


def test_one_host_hash_in_two_spellings_is_one_host():
    text = '<system version="1"><cpu host_hash="0x1" numaid="0"/><cpu host_hash="0x01" numaid="1"/></system>'
    assert [host for host, _ in numbered_cpus(topology_file.loads(text))] == [0, 0]
