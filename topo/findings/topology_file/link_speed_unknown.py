# SPDX-License-Identifier: Apache-2.0
"""A link_speed that NCCL does not know: it counts as Gen3 (`kvDictPciGen`, whose entries are prefixes of the text).

Unknown are "64 GT/s" and "16.0 GT/s" without " PCIe"; known are "16 GT/s" and "16.0 GT/s PCIe".
"""

import re
from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import LINK_SPEED_UNKNOWN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.alike import model
from railgauge.topo.findings.topology_file.pci_links import gb_per_s, text
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.xml.placed_element import PlacedElement

NUMBER = re.compile(r"\s*(\d{1,3}(?:\.\d+)?)\s*GT/?s?", re.IGNORECASE)
SPELLED = {2.5: "2.5 GT/s PCIe", 5.0: "5.0 GT/s PCIe", 8.0: "8.0 GT/s PCIe"} | {
    speed: f"{speed} GT/s PCIe" for speed in (16.0, 32.0, 64.0)
}


def _check(file: Machine) -> Iterator[Finding]:
    unreadable: list[PlacedElement] = []
    for pci in file.topology.placed("pci"):
        speed = pci.get("link_speed")
        if speed is None or any(speed.startswith(key) for key, _ in bandwidth.PCI_LANE):
            continue
        found = NUMBER.match(speed)
        wanted = SPELLED.get(float(found[1])) if found else None
        if wanted is None:
            unreadable.append(pci)
        else:
            yield _misspelled(pci, speed, wanted)
    if unreadable:
        twins = {model(pci) for pci in file.topology.placed("pci") if gb_per_s(pci) > gb_per_s(unreadable[0])}
        slower = any(pci.get("device") and model(pci) in twins for pci in unreadable)
        values = sorted({pci.get("link_speed") or "" for pci in unreadable})
        yield RULE.at(
            unreadable[0],
            Level.WARN if slower else Level.INFO,
            f"{len(unreadable)} links without a speed ({', '.join(map(repr, values))}), counted as Gen3"
            + ("; others of the model are faster" if slower else ""),
            effect=f"{gb_per_s(unreadable[0]):g} GB/s for {text(unreadable[0])}",
            values=values,
            lines=[pci.line for pci in unreadable],
        )


def _misspelled(pci: PlacedElement, speed: str, wanted: str) -> Finding:
    lanes = max(pci.number("link_width") or 0, 0)
    meant, counted = bandwidth.pci(wanted, lanes), gb_per_s(pci)
    return RULE.at(
        pci,
        Level.INFO if meant == counted else Level.WARN,
        f"link_speed {speed!r} is unknown to NCCL, which counts Gen3; write {wanted!r}",
        effect=f"{counted:g} GB/s instead of {meant:g}" if meant != counted else "",
        link_speed=speed,
        wanted=wanted,
        gb_per_s=counted,
        meant_gb_per_s=meant,
    )


RULE = TopologyFileRule(card=LINK_SPEED_UNKNOWN, check=_check)
