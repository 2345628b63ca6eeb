# SPDX-License-Identifier: Apache-2.0
"""A file that the strict reader rejects for a reason no other rule reports, such as another version."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.graph_file import GRAPH_FILE_FAULTY
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile
from railgauge.topo.findings.graph_file.rule import GraphFileRule


def _check(file: GraphFile) -> Iterator[Finding]:
    if file.fault:
        message = str(file.fault).removeprefix(f"{file.path}:").removeprefix(f"{file.fault.line}:").strip()
        yield RULE.finding(Level.FAIL, file.path, message, line=file.fault.line)


RULE = GraphFileRule(card=GRAPH_FILE_FAULTY, check=_check)
