# SPDX-License-Identifier: Apache-2.0
"""A link by the device that operators look for: GPU0, mlx5_0, a switch's bus id; and what it runs at."""

from railgauge.topo.nccl.graph.ends import text_names
from railgauge.topo.nccl.graph.model import Link, Node, NodeKind, System

OWNERS = (NodeKind.GPU, NodeKind.DEV, NodeKind.NIC, NodeKind.NET, NodeKind.HOST)


def device_at(system: System, link: Link) -> str:
    """The GPU, NIC or rank at an end of a link, else both ends."""
    names = text_names(system)
    ends = [system.node(end) for end in (link.source, link.target)]
    owner = next((end for end in ends if end.kind in OWNERS), None)
    return names[held(system, owner).id] if owner else "-".join(names[end.id] for end in ends)


def held(system: System, node: Node) -> Node:
    """The GPU of a card, the network port of a NIC; any other node is itself."""
    if node.kind not in (NodeKind.DEV, NodeKind.NIC):
        return node
    ends = (system.node(link.target) for link in system.links_of(node.id))
    return next((end for end in ends if end.kind in (NodeKind.GPU, NodeKind.NET)), node)


def runs_text(system: System, link: Link) -> str:
    """A link that runs slower than planned: "mlx5_0 runs at 24 GB/s (32.0 GT/s x8), NCCL plans with 48 (...)"."""
    now, planned = (
        f"{speed:g}{unit} ({origin})"
        for speed, unit, origin in ((link.real_gb_per_s, " GB/s", link.now), (link.gb_per_s, "", link.origin))
    )
    return f"{device_at(system, link)} runs at {now}, NCCL plans with {planned}"


def slow_links(system: System) -> list[str]:
    """One sentence for each link that runs slower than planned."""
    return list(dict.fromkeys(runs_text(system, link) for link in system.slow))
