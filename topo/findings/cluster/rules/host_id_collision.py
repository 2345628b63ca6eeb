# SPDX-License-Identifier: Apache-2.0
"""Nodes that NCCL identifies as the same host."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from railgauge.topo.findings.cards.network import HOST_ID_COLLISION as CARD
from railgauge.topo.findings.cluster.examination import Examined
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.values.node_names import folded


def find(nodes: Sequence[Examined]) -> Iterator[Finding]:
    """FAIL for each identity that several nodes have: host name and boot id, or NCCL_HOSTID."""
    same: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        if node.individual.identity:
            same[node.individual.identity].append(node.name)
    for identity, names in same.items():
        if len(names) > 1:
            yield CARD.finding(
                level=Level.FAIL,
                host=folded(names),
                subject=identity,
                message=f"{len(names)} nodes have the same host name and boot id, or the same NCCL_HOSTID: "
                f"clones, or one "
                "node read twice",
                effect="NCCL assumes that their ranks share memory and GPUs, and stops or hangs",
                evidence={"identity": identity, "nodes": names},
            )
