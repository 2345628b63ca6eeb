# SPDX-License-Identifier: Apache-2.0
"""A bus id twice on one host: NCCL finds the first (`xmlFindTagKv`), the other is a device that does not exist."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import BUSID_DUPLICATE
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.xml.placed_element import PlacedElement


def _check(file: Machine) -> Iterator[Finding]:
    first: dict[tuple[str, int], PlacedElement] = {}
    for pci in file.topology.placed("pci"):
        if pci.get("busid") is None:
            continue
        known = first.setdefault(pci.key, pci)
        if known is not pci:
            device = pci.is_gpu or pci.is_nic or known.is_gpu or known.is_nic
            yield RULE.at(
                pci,
                Level.FAIL if device else Level.WARN,
                f"bus id {pci.bus_id} also on line {known.line}",
                effect="NCCL places the devices below the second one apart from the first in its tree",
                lines=[known.line, pci.line],
            )


RULE = TopologyFileRule(card=BUSID_DUPLICATE, check=_check)
