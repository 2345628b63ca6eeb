# SPDX-License-Identifier: Apache-2.0
"""The bandwidth that a step of a channel takes of each link, with NCCL's overheads (`followPath`, src/graph/search.cc).

Intel CPUs send GPU traffic in small packets, 6/5 on PCI links of a PHB path that starts at a GPU; a write into a GPU
before sm 80 costs an eighth of the reverse link unless a GPU sends it; NVLink to a POWER CPU costs the reverse link as
well.
"""

from railgauge.topo.nccl.graph.model import Link, LinkKind, Node, NodeKind, System
from railgauge.topo.nccl.paths.paths import Path

INTEL_OVERHEAD = 6 / 5
REVERSE_SHARE = 1 / 8
REVERSE_BELOW_SM = 80


def taken(system: System, source: Node, path: Path) -> dict[Link, float]:
    """The GB/s that a step from `source` over `path` takes of each link per GB/s of its own."""
    found: dict[Link, float] = {}
    small = in_small_packets(system, source, path)
    for link in path.links:
        cost = INTEL_OVERHEAD if small and link.kind is LinkKind.PCI else 1.0
        found[link] = found.get(link, 0.0) + cost
        if share := reverse_share(system, source, link):
            back = reverse_of(system, link)
            found[back] = found.get(back, 0.0) + cost * share
    return found


def in_small_packets(system: System, source: Node, path: Path) -> bool:
    """Whether Intel's PCI roots split this traffic into small packets: exactly PHB, from a GPU, over an Intel CPU."""
    if path.type != "PHB" or source.kind is not NodeKind.GPU:
        return False
    passed = (system.node(node_id) for node_id in path.via)
    return any((node.arch, node.vendor) == ("x86_64", "GenuineIntel") for node in passed if node.kind is NodeKind.CPU)


def reverse_share(system: System, source: Node, link: Link) -> float:
    """The share of its load on `link` that a step from `source` also puts on the reverse link."""
    target = system.node(link.target)
    if target.kind is NodeKind.DEV and (target.sm or 0) < REVERSE_BELOW_SM and source.kind is NodeKind.NET:
        return REVERSE_SHARE
    power = target.kind is NodeKind.CPU and target.arch == "ppc64" and link.kind is LinkKind.NVL
    return 1.0 if power else 0.0


def reverse_of(system: System, link: Link) -> Link:
    """The other direction of a link."""
    return next(x for x in system.links_of(link.target) if (x.target, x.kind) == (link.source, link.kind))
