# SPDX-License-Identifier: Apache-2.0
"""A file without a ring or tree, with one twice, or with one that has no channels: NCCL searches those itself."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.graph_file import GRAPH_ABSENT
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile
from railgauge.topo.findings.graph_file.rule import GraphFileRule

NAMES = (("0", "ring"), ("1", "tree"))


def _check(file: GraphFile) -> Iterator[Finding]:
    for number, name in NAMES:
        found = [graph for graph in file.root.all("graph") if graph.get("id") == number]
        if not found:
            yield RULE.finding(Level.WARN, name, f'no <graph id="{number}">', effect=f"NCCL searches the {name} itself")
        elif len(found) > 1:
            effect = f"the one on line {found[-1].line} counts"
            yield RULE.of_graph(Level.WARN, found[-1], f"{len(found)} of it", effect=effect, count=len(found))
        elif not any(found[0].all("channel")):
            yield RULE.of_graph(Level.WARN, found[0], "no channels", effect=f"NCCL searches the {name} itself")


RULE = GraphFileRule(card=GRAPH_ABSENT, check=_check)
