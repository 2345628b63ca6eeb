# SPDX-License-Identifier: Apache-2.0
"""A GPU that is in a channel twice."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.graph_file import GPU_REPEATED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile, named
from railgauge.topo.findings.graph_file.rule import GraphFileRule


def _check(file: GraphFile) -> Iterator[Finding]:
    for placed in file.channels():
        met: set[str] = set()
        for gpu in placed.channel.all("gpu"):
            node = named(file, gpu, file.system.ranks)
            if node and node.id in met:
                message, effect = f"rank {node.rank} is in it twice", "NCCL's ring does not close: it stops"
                yield RULE.of_channel(Level.FAIL, placed, message, at=gpu, effect=effect, rank=node.rank)
            met |= {node.id} if node else set()


RULE = GraphFileRule(card=GPU_REPEATED, check=_check)
