# SPDX-License-Identifier: Apache-2.0
"""An incomplete channel: no NIC in or out with several nodes, or a step without a path."""

from collections.abc import Iterator

from railgauge.topo.channels.load import is_open, steps
from railgauge.topo.findings.cards.graph_file import CHANNEL_OPEN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile, PlacedChannel
from railgauge.topo.findings.graph_file.rule import GraphFileRule


def _check(file: GraphFile) -> Iterator[Finding]:
    for placed in file.channels():
        nets = sum(1 for _ in placed.channel.all("net"))
        if nets not in (0, 2) or (nets == 0 and file.group.leaves):
            message = f"has {nets} <net>, but a channel across nodes needs two, in and out"
            effect = "NCCL has no NIC for traffic out of this node"
            yield RULE.of_channel(Level.FAIL, placed, message, effect=effect, nets=nets)
    for element, graph in file.read():
        for number, (channel, at) in enumerate(zip(graph.channels, element.all("channel"), strict=False)):
            for step in steps(file.group, graph, channel):
                if is_open(file.group, step):
                    placed = PlacedChannel(graph=element, channel=at, number=number)
                    message = f"there is no path from {step.source.id} to {step.target.id}"
                    yield RULE.of_channel(Level.FAIL, placed, message, effect="NCCL stops when it connects them")


RULE = GraphFileRule(card=CHANNEL_OPEN, check=_check)
