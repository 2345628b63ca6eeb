# SPDX-License-Identifier: Apache-2.0
"""A rule about graph files."""

from typing import Any

from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile, PlacedChannel, name_of
from railgauge.topo.xml.element import Element


class GraphFileRule(FileRule[GraphFile]):
    """One thing that can be wrong in a graph file; `more` of its methods: see `finding`."""

    __slots__ = ()

    def of_graph(self, level: Level, graph: Element, message: str, **more: Any) -> Finding:
        """A finding about a graph, on its line."""
        return self.finding(level, name_of(graph), message, line=graph.line, **more)

    def of_channel(
        self, level: Level, placed: PlacedChannel, message: str, *, at: Element | None = None, **more: Any
    ) -> Finding:
        """A finding about a channel, on its line or that of an element in it."""
        line = (at or placed.channel).line
        return self.finding(level, name_of(placed.graph), message, line=line, channel=placed.number, **more)
