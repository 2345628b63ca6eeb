# SPDX-License-Identifier: Apache-2.0
"""A joined plan as the content of a railgauge/plan/1 document."""

from dataclasses import asdict
from typing import Any

from railgauge.topo.channels.edge import Edge
from railgauge.topo.channels.joined import Joined


def as_record(joined: Joined) -> dict[str, Any]:
    """What the document holds beside its head."""
    channels = len(joined.rings)
    return {
        "nodes": [
            {"source": member.name, "first_rank": member.first_rank, "ranks": member.size} for member in joined.members
        ],
        "gb_per_s": joined.gb_per_s,
        "ring": asdict(joined.ring),
        "tree": asdict(joined.tree),
        "rings": [{"ranks": list(ring.ranks), "network": _network(ring.edges)} for ring in joined.rings],
        "trees": [{"parents": list(tree.parents), "network": _network(tree.edges)} for tree in joined.trees],
        "executed": [{"ring": number % channels, "tree": number} for number in joined.executed],
    }


def _network(edges: tuple[Edge, ...]) -> list[dict[str, Any]]:
    """The steps between nodes."""
    return [
        {"from": edge.source, "to": edge.target, "nets": list(edge.nets), "leaves_rail": edge.leaves_rail}
        for edge in edges
        if edge.nets is not None
    ]
