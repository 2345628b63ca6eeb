# SPDX-License-Identifier: Apache-2.0
"""crossnic that contradicts the channels, or because of which NCCL ignores the graph.

With NCCL_CROSS_NIC=0 NCCL ignores a graph of crossnic 1 and searches itself (`ncclTopoGetGraphFromXmlSub`). With
crossnic 2 every second node exchanges channels in pairs, which takes an even number (`ncclTopoPostset`).
"""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.channels.graph import RING
from railgauge.topo.findings.cards.graph_file import CROSSNIC
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile
from railgauge.topo.findings.graph_file.rule import GraphFileRule
from railgauge.topo.nccl.settings.steering import CROSS_IF_BETTER


def _check(file: GraphFile) -> Iterator[Finding]:
    for element, graph in file.read():
        about: dict[str, Any] = {"crossnic": graph.cross_nic}
        crossed = [n for n, channel in enumerate(graph.channels) if len(set(channel.nets)) == 2]
        if graph.cross_nic == 1 and file.steering.cross_nic == 0:
            effect = "NCCL searches channels of its own"
            message = "crossnic is 1, but NCCL_CROSS_NIC is 0"
            yield RULE.of_graph(Level.WARN, element, message, effect=effect, **about)
        if graph.cross_nic == 0 and crossed:
            message = f"crossnic is 0, but channel {crossed[0]} enters by one NIC and leaves by another"
            effect = "its traffic goes from one rail to another"
            yield RULE.of_graph(Level.WARN, element, message, effect=effect, channels=crossed, **about)
        if graph.pattern == RING and graph.cross_nic == CROSS_IF_BETTER and len(graph.channels) % 2:
            message = f"crossnic is 2, which needs an even number of channels, not {len(graph.channels)}"
            effect = "nodes do not exchange channels, so rings leave their rails"
            yield RULE.of_graph(Level.WARN, element, message, effect=effect, **about)


RULE = GraphFileRule(card=CROSSNIC, check=_check)
