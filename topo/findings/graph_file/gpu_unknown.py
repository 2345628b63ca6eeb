# SPDX-License-Identifier: Apache-2.0
"""A <gpu> that the machine does not have. NCCL stops there (`XML Import Channel : dev not found`)."""

from collections.abc import Iterator

from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.findings.cards.graph_file import GPU_UNKNOWN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile, named
from railgauge.topo.findings.graph_file.rule import GraphFileRule


def _check(file: GraphFile) -> Iterator[Finding]:
    known = " ".join(f"{dev_number(gpu):#x}" for gpu in file.system.ranks)
    for placed in file.channels():
        for gpu in placed.channel.all("gpu"):
            if gpu.get("dev") and named(file, gpu, file.system.ranks) is None:
                message = f"GPU {gpu.get('dev')} is not in this machine, which has {known}"
                yield RULE.of_channel(Level.FAIL, placed, message, at=gpu, effect="NCCL stops", dev=gpu.get("dev"))


RULE = GraphFileRule(card=GPU_UNKNOWN, check=_check)
