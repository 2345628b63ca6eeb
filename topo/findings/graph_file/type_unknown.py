# SPDX-License-Identifier: Apache-2.0
"""A path type that NCCL does not load: its table (`kvDictLinkType`) has neither C2C, NET nor DIS."""

from collections.abc import Iterator

from railgauge.topo.channels.graph_file import LOADED_TYPES
from railgauge.topo.findings.cards.graph_file import TYPE_UNKNOWN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile
from railgauge.topo.findings.graph_file.rule import GraphFileRule


def _check(file: GraphFile) -> Iterator[Finding]:
    for graph in file.root.all("graph"):
        for key in ("typeintra", "typeinter"):
            text = graph.get(key)
            if text is not None and text not in LOADED_TYPES:
                message = f"{key} is {text[:40]!r}, not one of {' '.join(LOADED_TYPES)}"
                yield RULE.of_graph(Level.FAIL, graph, message, effect="NCCL stops", attribute=key, value=text)


RULE = GraphFileRule(card=TYPE_UNKNOWN, check=_check)
