# SPDX-License-Identifier: Apache-2.0
"""NCCL's own XML parser refuses the file, or reads it differently from XML: see nccl_parser.py."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import NCCL_CANNOT_READ
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.elements import TopoFile
from railgauge.topo.findings.topology_file.nccl_parser import stumbles
from railgauge.topo.findings.topology_file.rule import TopologyFileRule


def _check(file: TopoFile) -> Iterator[Finding]:
    for found in stumbles(file.data):
        yield RULE.finding(
            Level.FAIL if found.fatal else Level.WARN,
            file.topology.path or "",
            found.what,
            effect="NCCL refuses the file: ncclCommInitRank fails" if found.fatal else "",
            line=found.line,
        )


RULE = TopologyFileRule(card=NCCL_CANNOT_READ, check=_check)
