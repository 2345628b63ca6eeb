# SPDX-License-Identifier: Apache-2.0
"""A <net> that the machine does not have. NCCL does not check it, and stops when it connects."""

from collections.abc import Iterator

from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.findings.cards.graph_file import NIC_UNKNOWN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.graph_file.graph_file import GraphFile, named
from railgauge.topo.findings.graph_file.rule import GraphFileRule


def _check(file: GraphFile) -> Iterator[Finding]:
    known = " ".join(f"{dev_number(net):#x}" for net in file.system.nets) or "no NICs"
    for placed in file.channels():
        for net in placed.channel.all("net"):
            if net.get("dev") and named(file, net, file.system.nets) is None:
                message = f"NIC {net.get('dev')} is not in this machine, which has {known}"
                effect = "NCCL stops when it connects the nodes"
                yield RULE.of_channel(Level.FAIL, placed, message, at=net, effect=effect, dev=net.get("dev"))


RULE = GraphFileRule(card=NIC_UNKNOWN, check=_check)
