# SPDX-License-Identifier: Apache-2.0
"""Whether one machine can do all that another can, with the same ranks."""

from railgauge.topo.nccl.graph.model import System


def contains(more: System, less: System) -> bool:
    """Whether a System has every node and link of another, each as fast, and every GPUDirect RDMA."""
    if [rank.id for rank in more.ranks] != [rank.id for rank in less.ranks]:
        return False
    nodes = {node.id: node for node in more.nodes}
    links = {(link.source, link.target, link.kind): link for link in more.links}
    return all(node.id in nodes and bool(nodes[node.id].gdr) >= bool(node.gdr) for node in less.nodes) and all(
        (found := links.get((link.source, link.target, link.kind))) is not None
        and found.gb_per_s >= link.gb_per_s
        and found.real_gb_per_s >= link.real_gb_per_s
        for link in less.links
    )
