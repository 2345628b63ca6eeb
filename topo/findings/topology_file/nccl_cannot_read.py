# SPDX-License-Identifier: Apache-2.0
"""NCCL's own XML parser refuses the file, or reads it differently from XML: see nccl_parser.py."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import NCCL_CANNOT_READ
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.inspected_file import text_of
from railgauge.topo.findings.topology_file.nccl_parser import stumbles
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine


def _check(file: Machine) -> Iterator[Finding]:
    for found in stumbles(text_of(file)):
        yield RULE.finding(
            Level.FAIL if found.fatal else Level.WARN,
            file.topology.path or "",
            found.what,
            effect="NCCL refuses the file: ncclCommInitRank fails" if found.fatal else "",
            line=found.line,
        )


RULE = TopologyFileRule(card=NCCL_CANNOT_READ, check=_check)
