# SPDX-License-Identifier: Apache-2.0
"""A path type that is not the furthest of the channels' paths. NCCL chooses protocols and latencies by it."""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.channels.graph import Graph
from railgauge.topo.channels.load import steps
from railgauge.topo.findings.cards.graph_file import TYPE_DIFFERS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile
from railgauge.topo.findings.graph_file.rule import GraphFileRule
from railgauge.topo.nccl.graph.model import PATH_TYPES, NodeKind


def _check(file: GraphFile) -> Iterator[Finding]:
    for element, graph in file.read():
        for key, said, is_inter in (("typeintra", graph.type_intra, False), ("typeinter", graph.type_inter, True)):
            furthest = _furthest(file, graph, is_inter)
            if furthest and PATH_TYPES.index(furthest) > PATH_TYPES.index(said):
                message = f"{key} is {said}, but a step of its channels is {furthest}"
                effect = "NCCL overestimates the speed of these channels"
                about: dict[str, Any] = {"attribute": key, "value": said, "furthest": furthest}
                yield RULE.of_graph(Level.WARN, element, message, effect=effect, **about)


def _furthest(file: GraphFile, graph: Graph, is_inter: bool) -> str | None:
    types = [
        file.group.table.get(step.source.id, step.target.id).type
        for channel in graph.channels
        for step in steps(file.group, graph, channel)
        if (NodeKind.NET in (step.source.kind, step.target.kind)) is is_inter
    ]
    return max(types, key=PATH_TYPES.index, default=None)


RULE = GraphFileRule(card=TYPE_DIFFERS, check=_check)
