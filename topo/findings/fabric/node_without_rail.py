# SPDX-License-Identifier: Apache-2.0
"""A node that is on some rails, and not on one that most such nodes have."""

from collections import Counter
from collections.abc import Iterable, Iterator

from railgauge.topo.fabric.rails import base
from railgauge.topo.findings.cards.fabric import NODE_WITHOUT_RAIL
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level


def _check(examined: ExaminedFabric) -> Iterator[Finding]:
    fabric, rails = examined.fabric, examined.rails.compute
    if not examined.rails.separate:
        yield from _fewer(examined)
        return
    unnamed = {one.node for one in fabric.endpoints if not one.named}
    nodes = {node for node, _ in examined.leaves_at} - unnamed
    doubtful = {name.partition(" ")[0] for names in fabric.duplicates.values() for name in names}
    counts = Counter(place for node, place in examined.leaves_at if node in nodes)
    for place, rail in enumerate(rails):
        if counts[place] * 2 <= len(nodes):
            continue
        for node in sorted(nodes - doubtful):
            on_it = (node, place) in examined.leaves_at
            elsewhere = any(base(one) in rail.devices and one in fabric.leaf_of for one in fabric.nodes[node])
            if not on_it and not elsewhere:
                message = f"{node} has no port on {rail.name} ({', '.join(rail.devices)})"
                yield _finding(examined, rail.leaves, node, message, rail=rail.name)


def _fewer(examined: ExaminedFabric) -> Iterator[Finding]:
    """Without rails: nodes with fewer ports on the leaves of compute than most."""
    leaves = [leaf for rail in examined.rails.compute for leaf in rail.leaves]
    cabled = Counter(one.node for leaf in leaves for one in examined.fabric.on_leaf[leaf] if one.named)
    usual = Counter(cabled.values()).most_common(1)
    for node, count in cabled.items():
        if count < usual[0][0] and usual[0][1] * 2 > len(cabled):
            message = f"{node} has {count} ports on the fabric, others {usual[0][0]}"
            yield _finding(examined, leaves, node, message, ports=count)


def _finding(examined: ExaminedFabric, leaves: Iterable[str], node: str, message: str, **evidence: object) -> Finding:
    """FAIL, or UNKNOWN if a port on these leaves has no description: it may be the node's."""
    nameless = [one.name for leaf in leaves for one in examined.fabric.on_leaf[leaf] if not one.named]
    level = Level.UNKNOWN if nameless else Level.FAIL
    if nameless:
        message += f", or one of those without node description is its own ({len(nameless)}, such as {nameless[0]})"
    return RULE.card.finding(level, node, message, host=node, evidence=evidence)


RULE = FileRule(card=NODE_WITHOUT_RAIL, check=_check)
