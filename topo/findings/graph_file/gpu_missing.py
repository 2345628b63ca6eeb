# SPDX-License-Identifier: Apache-2.0
"""A GPU of the machine that a channel does not visit. NCCL uses rank 0 in its place."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.graph_file import GPU_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile, named
from railgauge.topo.findings.graph_file.rule import GraphFileRule


def _check(file: GraphFile) -> Iterator[Finding]:
    for placed in file.channels():
        met = [named(file, gpu, file.system.ranks) for gpu in placed.channel.all("gpu")]
        missing = [node.rank for node in file.group.ranks if node not in met]
        if missing:
            message = f"lacks rank {', '.join(map(str, missing))}"
            effect = "NCCL stops, or leaves that GPU out of the collective"
            yield RULE.of_channel(Level.FAIL, placed, message, effect=effect, missing=missing)


RULE = GraphFileRule(card=GPU_MISSING, check=_check)
