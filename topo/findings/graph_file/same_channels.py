# SPDX-License-Identifier: Apache-2.0
"""samechannels=1 although the channels differ: NCCL then assumes less latency (`ncclTopoTuneModel`)."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.graph_file import SAMECHANNELS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile
from railgauge.topo.findings.graph_file.rule import GraphFileRule


def _check(file: GraphFile) -> Iterator[Finding]:
    for element, graph in file.read():
        different = len({channel.ranks for channel in graph.channels})
        if graph.same_channels and different > 1:
            message = f"samechannels is 1, but {different} channels are different"
            effect = "NCCL overestimates the speed of broadcast and reduce"
            yield RULE.of_graph(Level.WARN, element, message, effect=effect, different=different)


RULE = GraphFileRule(card=SAMECHANNELS, check=_check)
