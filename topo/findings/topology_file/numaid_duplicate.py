# SPDX-License-Identifier: Apache-2.0
"""Two <cpu> of one host with the same numaid: NCCL makes two CPU nodes of one id (`ncclTopoAddCpu`)."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import NUMAID_DUPLICATE
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.xml.placed_element import PlacedElement


def _check(file: Machine) -> Iterator[Finding]:
    first: dict[tuple[str, int], PlacedElement] = {}
    for cpu in file.topology.placed("cpu"):
        numa = cpu.number("numaid")
        if numa is None:
            continue
        known = first.setdefault((cpu.host, numa), cpu)
        if known is not cpu:
            yield RULE.at(
                cpu,
                Level.FAIL,
                f"numaid {numa} also on line {known.line}",
                subject=f"numaid {numa}",
                effect="devices of one NUMA node are split over two: paths between them become SYS",
                lines=[known.line, cpu.line],
            )


RULE = TopologyFileRule(card=NUMAID_DUPLICATE, check=_check)
