# SPDX-License-Identifier: Apache-2.0
"""A bridge of 1 GB/s or less above devices that are much faster: a fictitious bridge of a hypervisor, not a real link.

NCCL reads its 2.5 GT/s x1 as 0.2 GB/s and plans all traffic of the devices below with it.
"""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import PCIE_BRIDGE_BOGUS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.pci_links import text
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.link_state.pcie import PciState, judge_pci
from railgauge.topo.link_state.verdict import Reason
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.link_facts import pci_links
from railgauge.topo.xml.placed_element import PlacedElement


def bogus(file: Machine) -> list[PlacedElement]:
    """The fictitious bridges."""
    return [pci for pci, _ in _judged(file)]


def _judged(file: Machine) -> Iterator[tuple[PlacedElement, PciState]]:
    states = judge_pci(pci_links(file.topology, file.facts))
    pairs = zip(file.topology.placed("pci"), states, strict=True)
    return ((pci, state) for pci, state in pairs if state.reason is Reason.BOGUS)


def _check(file: Machine) -> Iterator[Finding]:
    yield from (_finding(pci, state) for pci, state in _judged(file))


def _finding(pci: PlacedElement, state: PciState) -> Finding:
    devices = [device for device in pci.below("pci") if device.is_gpu or device.is_nic]
    here, fastest = state.link.gb_per_s, state.full_gb_per_s
    return RULE.at(
        pci,
        Level.FAIL,
        f"a bridge of {text(pci)} is above {len(devices)} devices of up to {fastest:g} GB/s",
        effect=f"{fastest:g} -> {here:g} GB/s for {', '.join(device.bus_id for device in devices)}",
        link_speed=pci.get("link_speed"),
        link_width=pci.get("link_width"),
        vendor=pci.get("vendor"),
        device=pci.get("device"),
        gb_per_s=here,
        below_gb_per_s=fastest,
    )


RULE = TopologyFileRule(card=PCIE_BRIDGE_BOGUS, check=_check)
