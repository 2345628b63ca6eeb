# SPDX-License-Identifier: Apache-2.0
"""A <graph> without an attribute that NCCL reads (`ncclTopoGetGraphFromXmlSub`), or a device without dev.

latencyinter alone may be absent. NCCL reads a text that is not a number as 0.
"""

from collections.abc import Iterator

from railgauge.topo.errors import InputError
from railgauge.topo.findings.cards.graph_file import ATTRIBUTE_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile
from railgauge.topo.findings.graph_file.rule import GraphFileRule

NUMBERS = ("pattern", "crossnic", "nchannels", "samechannels")
NEEDED = (*NUMBERS, "speedintra", "speedinter", "typeintra", "typeinter")


def _check(file: GraphFile) -> Iterator[Finding]:
    for graph in file.root.all("graph"):
        for key in NEEDED if graph.get("id") else ("id", *NEEDED):
            if graph.get(key) is None:
                yield RULE.of_graph(Level.FAIL, graph, f"lacks {key}", effect="NCCL stops", attribute=key)
        for key in NUMBERS:
            try:
                graph.integer(key, None, 0)
            except InputError as error:
                yield RULE.of_graph(Level.FAIL, graph, str(error), effect="NCCL reads 0", attribute=key)
    for element in file.root.walk():
        if element.name in ("gpu", "net") and not element.get("dev"):
            yield RULE.finding(
                Level.FAIL, f"<{element.name}>", "lacks dev", line=element.line, effect="NCCL stops", attribute="dev"
            )


RULE = GraphFileRule(card=ATTRIBUTE_MISSING, check=_check)
