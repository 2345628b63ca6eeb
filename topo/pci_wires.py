# SPDX-License-Identifier: Apache-2.0
"""The PCI link above each device, in the words people use (x16 Gen5), and what is wrong with it.

Sysfs tells what a link runs at beside what both ends can do. A topology XML holds one of the two, so there a link is
only held against its like: other devices of the same model, the wires below a switch, the ports of a NIC.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.sources.pci_functions import PciFunction, best_link, degraded
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.nccl.graph.pci_place import numbered_cpus
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.topology import Topology

GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}  # GT/s: PCI Express base specifications 1.0 to 6.0
SPEED = re.compile(r"\s*(\d+(?:\.\d+)?) GT/s")
PORT_MARGIN = 1.25  # a port may exceed NCCL's figure for its link (100 Gb/s over x16 Gen3 are 12.5 of 12 GB/s)
UPLINK_MARGIN = 2.0  # a switch a generation older than what is below it is common: Gen6 devices on a Gen5 CPU
MODEL = ("vendor", "device", "subsystem_vendor", "subsystem_device")


@dataclass(frozen=True, slots=True, kw_only=True)
class PciWire:
    """One link: GT/s and lanes (None when unknown), its GB/s in NCCL's model, and what is wrong, briefly and in full.

    now_gt_per_s and now_lanes are what sysfs says it runs at; None where nobody told.
    """

    gt_per_s: float | None
    lanes: int | None
    gb_per_s: float
    now_gt_per_s: float | None = None
    now_lanes: int | None = None
    problem: str | None = None
    reason: str | None = None

    @property
    def text(self) -> str:
        """Such as "x16 Gen5"; "" when nothing is known."""
        return link_text(self.gt_per_s, self.lanes)


def link_text(gt_per_s: float | None, lanes: int | None) -> str:
    """Lanes and generation as far as they are known."""
    known = GENERATIONS.get(gt_per_s or 0.0)
    speed = f"Gen{known}" if known else f"{gt_per_s:g} GT/s" if gt_per_s else ""
    return " ".join(part for part in (f"x{lanes}" if lanes else "", speed) if part)


def pci_wires(topology: Topology, inventory: MachineFacts | None = None) -> dict[tuple[int, str], PciWire]:
    """The link above each <pci>, by host (0 is the first of the file) and bus id as the XML spells it."""
    return {
        (host, pci.get("busid") or ""): _wire(pci, topology, inventory)
        for host, cpu in numbered_cpus(topology)
        for pci in cpu.walk()
        if pci.name == "pci"
    }


def _wire(pci: Element, topology: Topology, inventory: MachineFacts | None) -> PciWire:
    function = inventory.function(pci.get("busid")) if inventory else None
    problem, reason = _degraded(function, inventory) or _narrow(pci, topology) or (None, None)
    return PciWire(
        gt_per_s=_gt_per_s(pci),
        lanes=_lanes(pci),
        gb_per_s=_gb_per_s(pci),
        now_gt_per_s=function.link.gt_per_s if function else None,
        now_lanes=function.link.lanes if function else None,
        problem=problem,
        reason=reason,
    )


def _gt_per_s(pci: Element) -> float | None:
    found = SPEED.match(pci.get("link_speed") or "")
    return float(found[1]) if found else None


def _lanes(pci: Element) -> int | None:
    text = (pci.get("link_width") or "").strip()
    return int(text) or None if text.isdecimal() and len(text) < 4 else None


def _gb_per_s(pci: Element) -> float:
    return bandwidth.pci(pci.get("link_speed") or "", _lanes(pci) or 0)


def _degraded(function: PciFunction | None, inventory: MachineFacts | None) -> tuple[str, str] | None:
    """Fewer lanes than both ends can do; a lower speed alone is no fault, since idle devices save power so."""
    if function is None or inventory is None:
        return None
    port = inventory.function(function.parent)
    if not degraded(function, port):
        return None
    speed, lanes = best_link(function, port)
    now = link_text(function.link.gt_per_s, function.link.lanes)
    return f"runs x{function.link.lanes} of x{lanes}", f"runs {now}, both ends can do {link_text(speed, lanes)}"


def _narrow(pci: Element, topology: Topology) -> tuple[str, str] | None:
    """What an XML alone gives away."""
    own = _gb_per_s(pci)
    if any(pci.all("gpu")) or any(pci.all("nic")):
        return _slower_than_twins(pci, own, topology) or _slower_than_ports(pci, own)
    return _narrow_uplink(pci, own)


def _narrow_uplink(pci: Element, own: float) -> tuple[str, str] | None:
    """GPUs with a chip-to-chip link do not need the uplink: that is their way to the CPU."""
    below = max((_gb_per_s(child) for child in pci.all("pci") if _lanes(child) or _gt_per_s(child)), default=0.0)
    has_c2c = any(element.name == "c2c" for element in pci.walk())
    if _lanes(pci) is None or has_c2c or below <= own * UPLINK_MARGIN:
        return None
    return "narrow uplink", f"carries {own:g} GB/s, a single link below it {below:g}"


def _slower_than_twins(pci: Element, own: float, topology: Topology) -> tuple[str, str] | None:
    model = tuple(pci.get(key) for key in MODEL)
    twins = [twin for twin in _devices(topology) if tuple(twin.get(key) for key in MODEL) == model and _lanes(twin)]
    best = max(twins, key=_gb_per_s, default=None)
    if best is None or None in model[:2] or _lanes(pci) is None or _gb_per_s(best) <= own:
        return None
    text = link_text(_gt_per_s(best), _lanes(best))
    return f"its twins: {text}", f"others of the same model have {text}"


def _devices(topology: Topology) -> Iterator[Element]:
    return (pci for cpu in topology.cpus for pci in cpu.walk() if pci.name == "pci")


def _slower_than_ports(pci: Element, own: float) -> tuple[str, str] | None:
    speeds = [net.integer("speed", None, 0) for nic in pci.all("nic") for net in nic.all("net")]
    port = max(speeds, default=0)
    if port / 8000 <= own * PORT_MARGIN:
        return None
    return "port is faster", f"carries {own:g} GB/s, a port of it {port / 8000:g}"
