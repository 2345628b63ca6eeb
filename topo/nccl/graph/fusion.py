# SPDX-License-Identifier: Apache-2.0
"""A topology in the order of NCCL's fused XML: rank 0's GPU and all NICs first, then each later rank's branch appended.

NCCL's functions: `ncclTopoTrimXml`, `ncclTopoFuseXml`. This decides the indices of nodes, and so of channels.
A file that NCCL or a scan wrote is in that order already. Every GPU has a rank afterwards.
"""

from railgauge.topo.xml.element import Element
from railgauge.topo.xml.topology import Topology, host_of
from railgauge.topo.xml.tree import Tree, fuse, trim


def in_fused_order(topology: Topology) -> Element:
    """The tree below <system> in NCCL's order; as it is without GPUs."""
    gpus = ranked_gpus(topology)
    if not gpus:
        return topology.root
    hosts = {id(gpu): _host(cpu) for cpu in topology.cpus for gpu in cpu.walk() if gpu.name == "gpu"}
    trees = [_rank_tree(topology.root, gpu, rank, hosts[id(gpu)]) for rank, gpu in enumerate(gpus)]
    for tree in trees[1:]:
        fuse(trees[0], tree)
    return trees[0].freeze()


def ranked_gpus(topology: Topology) -> list[Element]:
    """The <gpu> elements in rank order: their own where those are a permutation of 0..n-1, else the file's."""
    gpus = list(topology.gpus)
    ranks = [int(text) if (text := gpu.get("rank") or "").isdecimal() and len(text) < 9 else -1 for gpu in gpus]
    if sorted(ranks) != list(range(len(gpus))):
        return gpus
    return [gpu for _, gpu in sorted(zip(ranks, gpus, strict=True), key=lambda pair: pair[0])]


def _rank_tree(root: Element, gpu: Element, rank: int, host: int | str) -> Tree:
    """What one rank's own XML holds: its GPU, with its rank, and all NICs of its host."""
    tree = Tree(root.name, root.attributes, root.line)
    for child in root.children:
        kept = trim(child, lambda one: _is_used(one, gpu)) if _is_of(child, host) else None
        if kept is not None:
            tree.append(kept)
    for own in (node for node in tree.walk() if node.name == "gpu"):
        own.attributes.pop("rank", None)
        own.put("rank", str(rank))
    return tree


def _is_of(child: Element, host: int | str) -> bool:
    return child.name != "cpu" or _host(child) == host


def _host(cpu: Element) -> int | str:
    return host_of(cpu.get("host_hash"))


def _is_used(element: Element, gpu: Element) -> bool:
    return element is gpu or (element.name == "net" and element.get("dev") is not None)
