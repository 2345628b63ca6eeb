# SPDX-License-Identifier: Apache-2.0
"""An invalid speed: 0, negative, not a number, infinite."""

import math
from collections.abc import Iterator

from railgauge.topo.findings.cards.graph_file import SPEED_WRONG
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile
from railgauge.topo.findings.graph_file.rule import GraphFileRule


def _check(file: GraphFile) -> Iterator[Finding]:
    for graph in file.main():
        for key in ("speedintra", "speedinter"):
            text = graph.get(key)
            if text is not None and any(graph.all("channel")) and not 0 < _number(text) < math.inf:
                yield RULE.of_graph(
                    Level.FAIL,
                    graph,
                    f"{key} is {text[:40]!r}, not a speed in GB/s",
                    effect="NCCL assumes an infinitely slow or fast algorithm, and never or always chooses it",
                    attribute=key,
                    value=text,
                )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


RULE = GraphFileRule(card=SPEED_WRONG, check=_check)
