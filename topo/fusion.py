# SPDX-License-Identifier: Apache-2.0
"""A topology in the order of NCCL's fused XML: rank 0's GPU and all NICs first, then each later rank's branch appended.

NCCL's functions: `ncclTopoTrimXml`, `ncclTopoFuseXml`. It decides the indices of nodes, and so of channels.
A file that NCCL or a scan wrote is in that order already. Every GPU has a rank afterwards.
"""

from railgauge.topo.element import Element
from railgauge.topo.topology import Topology
from railgauge.topo.tree import Tree, fuse

TRIMMED = ("cpu", "pci", "nic", "net")  # what goes when nothing in it is used


def in_fused_order(topology: Topology) -> Element:
    """The tree below <system> in NCCL's order; as it is without GPUs."""
    gpus = ranked_gpus(topology)
    if not gpus:
        return topology.root
    host_of = {id(gpu): cpu.get("host_hash") for cpu in topology.cpus for gpu in cpu.walk() if gpu.name == "gpu"}
    trees = [_rank_tree(topology.root, gpu, rank, host_of.get(id(gpu))) for rank, gpu in enumerate(gpus)]
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


def _rank_tree(root: Element, gpu: Element, rank: int, host: str | None) -> Tree:
    """What one rank's own XML holds: its GPU, with its rank, and all NICs of its host."""
    tree = Tree(root.name, list(root.attributes), root.line)
    for cpu in root.children:
        kept = _kept(cpu, gpu) if cpu.name != "cpu" or cpu.get("host_hash") == host else None
        if kept is not None:
            tree.children.append(kept)
    for own in (node for node in tree.walk() if node.name == "gpu"):
        own.attributes = [pair for pair in own.attributes if pair[0] != "rank"] + [("rank", str(rank))]
    return tree


def _kept(element: Element, gpu: Element) -> Tree | None:
    """A copy without unused branches; None when nothing in it is used."""
    if element.name == "gpu" and element is not gpu:
        return None
    tree = Tree(element.name, list(element.attributes), element.line)
    tree.children = [kept for child in element.children if (kept := _kept(child, gpu)) is not None]
    used = element is gpu or (element.name == "net" and element.get("dev") is not None)
    if element.name in TRIMMED and not used and not any(_uses(child) for child in tree.children):
        return None
    return tree


def _uses(tree: Tree) -> bool:
    return tree.name in (*TRIMMED, "gpu")
