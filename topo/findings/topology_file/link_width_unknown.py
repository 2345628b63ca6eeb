# SPDX-License-Identifier: Apache-2.0
"""A link_width that is 0 or missing, which NCCL counts as 16 lanes (`ncclTopoAddPci`), or invalid."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import LINK_WIDTH_UNKNOWN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.pci_links import gb_per_s, text
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.xml.placed_element import PlacedElement

WIDTHS = (1, 2, 4, 8, 12, 16, 32)  # PCIe base specification, link capabilities


def _check(file: Machine) -> Iterator[Finding]:
    unknown: list[PlacedElement] = []
    for pci in file.topology.placed("pci"):
        width = pci.get("link_width")
        if width is not None and not width.strip(" 0"):
            unknown.append(pci)
        elif width is not None and pci.number("link_width") not in WIDTHS:
            message = f"link_width {width[:40]!r} is not a PCIe width ({', '.join(map(str, WIDTHS))})"
            yield RULE.at(pci, Level.WARN, message, effect=f"{gb_per_s(pci):g} GB/s", link_width=width)
    if unknown:
        yield RULE.at(
            unknown[0],
            Level.INFO,
            f"{len(unknown)} links without a width, counted as {bandwidth.PCI_LANES_UNKNOWN} lanes",
            effect=f"{gb_per_s(unknown[0]):g} GB/s for {text(unknown[0])}",
            lines=[pci.line for pci in unknown],
        )


RULE = TopologyFileRule(card=LINK_WIDTH_UNKNOWN, check=_check)
