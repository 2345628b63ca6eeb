# SPDX-License-Identifier: Apache-2.0
"""A <gpu> whose rank differs from that of the GPU named by its dev.

NCCL 2.30 writes and reads rank, which then overrides dev; earlier releases read only dev.
"""

from collections.abc import Iterator

from railgauge.topo.findings.cards.graph_file import GPU_RANK
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile, named
from railgauge.topo.findings.graph_file.rule import GraphFileRule
from railgauge.topo.values.number import strtol


def _check(file: GraphFile) -> Iterator[Finding]:
    for placed in file.channels():
        for gpu in placed.channel.all("gpu"):
            node, text = named(file, gpu, file.system.ranks), gpu.get("rank")
            if node and text is not None and strtol(text) != node.rank:
                message = f"GPU {gpu.get('dev')} has rank {text}, but is rank {node.rank} of this machine"
                effect = "NCCL 2.30 uses rank, earlier releases dev"
                about = {"rank": text, "dev": gpu.get("dev")}
                yield RULE.of_channel(Level.WARN, placed, message, at=gpu, effect=effect, **about)


RULE = GraphFileRule(card=GPU_RANK, check=_check)
