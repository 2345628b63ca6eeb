# SPDX-License-Identifier: Apache-2.0
"""Where devices stand in the PCI tree, and how two of them reach each other over it, in nvidia-smi's words.

`nvidia-smi topo -m` prints the answer of nvmlDeviceGetTopologyCommonAncestor (nvml.h, nvmlGpuTopologyLevel_t); its
legend is the only description of the letters. Levels are those of the XML, before NCCL flattens switches.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.nccl.graph.fusion import in_fused_order
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.placed_element import host_of
from railgauge.topo.xml.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class PciPlace:
    """A device's place from the top down: host, CPU (its number in NCCL's order), switches by bus id, and its own bus
    id.

    `bridge` is the host bridge ("pci0000:15"), None if unknown, as in a topology XML. bus_id is "" for a
    virtual NIC.
    """

    host: int
    cpu: int
    switches: tuple[str, ...]
    bus_id: str
    bridge: str | None = None


def numbered_cpus(topology: Topology) -> Iterator[tuple[int, Element]]:
    """Each <cpu> with the number of its host, in the order in which system.py makes nodes of them."""
    hosts: dict[int | str, int] = {}
    for cpu in in_fused_order(topology).all("cpu"):
        yield hosts.setdefault(host_of(cpu.get("host_hash")), len(hosts)), cpu


def places(topology: Topology, inventory: MachineFacts | None = None) -> dict[tuple[int, str], PciPlace]:
    """The place of each PCI device by host and bus id; virtual NICs are at ""."""
    found: dict[tuple[int, str], PciPlace] = {}
    for number, (host, cpu) in enumerate(numbered_cpus(topology)):
        if any(cpu.all("nic")):
            found[host, ""] = PciPlace(host=host, cpu=number, switches=(), bus_id="")
        for switches, pci in _devices(cpu, ()):
            bus_id = pci.get("busid") or ""
            function = inventory.function(bus_id) if inventory else None
            bridge = function.path[0] if function else None
            found[host, bus_id] = PciPlace(host=host, cpu=number, switches=switches, bus_id=bus_id, bridge=bridge)
    return found


def _devices(parent: Element, switches: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Element]]:
    for pci in parent.all("pci"):
        yield switches, pci
        yield from _devices(pci, (*switches, pci.get("busid") or ""))


def relation(a: PciPlace, b: PciPlace) -> str:
    """PIX, PXB, PHB, NODE, SYS, or N/A for two hosts.

    PHB where the host bridges are unknown: it may be NODE.
    """
    if a.host != b.host:
        return "N/A"
    if a.cpu != b.cpu:
        return "SYS"
    if a.bus_id and a.bus_id.rpartition(".")[0] == b.bus_id.rpartition(".")[0]:
        return "PIX"  # two functions of one card
    shared = sum(1 for x, y in zip(a.switches, b.switches, strict=False) if x == y)
    if a.switches[:1] == b.switches[:1] and shared:
        return "PIX" if len(a.switches) == len(b.switches) == shared else "PXB"
    return "NODE" if a.bridge and b.bridge and a.bridge != b.bridge else "PHB"
