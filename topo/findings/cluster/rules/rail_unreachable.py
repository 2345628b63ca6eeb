# SPDX-License-Identifier: Apache-2.0
"""A NIC in the network of another rail of most nodes: swapped rails.

Networks of no rail of most nodes are accepted: each leaf may have its own, with routes between them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from railgauge.topo.findings.cards.network import RAIL_UNREACHABLE as CARD
from railgauge.topo.findings.cluster.examination import Examined
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.values.node_names import folded


def find(nodes: Sequence[Examined]) -> Iterator[Finding]:
    """WARN for each port on the rail of another."""
    rails: dict[str, Counter[str]] = defaultdict(Counter)
    for node in nodes:
        for port in node.individual.ports:
            if port.network:
                rails[port.name][port.network] += 1
    usual = {name: counts.most_common(1)[0] for name, counts in rails.items()}
    of = {network: name for name, (network, count) in usual.items() if 2 * count > rails[name].total()}
    odd: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node in nodes:
        for port in node.individual.ports:
            if of.get(port.network, port.name) != port.name and of.get(usual[port.name][0]) == port.name:
                odd[port.name, port.network].append(node.name)
    for (name, network), names in odd.items():
        expected, count = usual[name]
        yield CARD.finding(
            level=Level.WARN,
            host=folded(names),
            subject=name,
            message=f"{name} is in {network}, the network of {of[network]}; on {count} of "
            f"{rails[name].total()} nodes it is in {expected}",
            effect="rings that stay on a rail (NCCL_CROSS_NIC=0) reach no peer, others leave their switch",
            evidence={"network": network, "usual_network": expected, "nodes": names},
        )
