# SPDX-License-Identifier: Apache-2.0
"""NCCL's own XML parser rejects the file or reads it differently from XML (topology_file/nccl_parser.py)."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.graph_file import NCCL_CANNOT_READ
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile
from railgauge.topo.findings.graph_file.rule import GraphFileRule
from railgauge.topo.findings.topology_file.nccl_parser import GRAPHS, stumbles


def _check(file: GraphFile) -> Iterator[Finding]:
    for stumble in stumbles(file.data, GRAPHS):
        level, effect = (Level.FAIL, "NCCL stops") if stumble.fatal else (Level.WARN, "")
        yield RULE.finding(level, file.path, stumble.what, effect=effect, line=stumble.line)


RULE = GraphFileRule(card=NCCL_CANNOT_READ, check=_check)
