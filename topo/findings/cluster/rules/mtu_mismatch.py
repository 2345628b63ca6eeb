# SPDX-License-Identifier: Apache-2.0
"""RDMA ports of one network whose MTU is not the same on all nodes."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from railgauge.topo.findings.cards.rdma_ports import MTU_MISMATCH as CARD
from railgauge.topo.findings.cluster.examination import Examined
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.values.node_names import folded


def find(nodes: Sequence[Examined]) -> Iterator[Finding]:
    """WARN for ports that differ from most of the same name and link layer; without a majority for all."""
    mtus: dict[tuple[str, str | None], dict[str, int]] = defaultdict(dict)
    for node in nodes:
        for port in node.individual.ports:
            if port.mtu:
                mtus[port.name, port.link_layer][node.name] = port.mtu
    odd: dict[tuple[int, int, int, int, tuple[str, ...]], list[str]] = defaultdict(list)
    for (name, _), told in mtus.items():
        usual, count = Counter(told.values()).most_common(1)[0]
        for mtu in sorted({one for one in told.values() if one != usual}):
            odd[mtu, usual, count, len(told), tuple(node for node in told if told[node] == mtu)].append(name)
    for (mtu, usual, count, of, names), ports in odd.items():
        more = f" and {len(ports) - 1} more" if len(ports) > 1 else ""
        yield CARD.finding(
            level=Level.WARN,
            host=folded(names),
            subject=ports[0],
            message=f"the active MTU of {ports[0]}{more} is {mtu}, {count} of {of} nodes {usual}",
            effect="RDMA connections use the smaller one; longer packets are dropped",
            evidence={"ports": ports, "mtu": mtu, "usual_mtu": usual, "nodes": list(names)},
        )
