# SPDX-License-Identifier: Apache-2.0
"""One GPU, by its UUID, on several nodes: two containers or VMs have the same one."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from railgauge.topo.findings.cards.gpus import DUPLICATE_GPU as CARD
from railgauge.topo.findings.cluster.examination import Examined
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.values.node_names import folded


def find(nodes: Sequence[Examined]) -> Iterator[Finding]:
    """FAIL for nodes that share GPUs."""
    holders: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        for uuid in dict.fromkeys(node.individual.uuids):
            holders[uuid].append(node.name)
    same: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for uuid, names in holders.items():
        if len(names) > 1:
            same[tuple(names)].append(uuid)
    for sharing, uuids in same.items():
        more = f" and {len(uuids) - 1} more" if len(uuids) > 1 else ""
        yield CARD.finding(
            level=Level.FAIL,
            host=folded(sharing),
            subject=uuids[0],
            message=f"{uuids[0]}{more}: on {len(sharing)} nodes",
            effect="ranks on these nodes share a GPU: NCCL rejects them, or they slow each other down",
            evidence={"uuids": uuids, "nodes": list(sharing)},
        )
