# SPDX-License-Identifier: Apache-2.0
"""A topology in the order of NCCL's fused XML: rank 0's GPU and all NICs first, then each later rank's branch appended.

NCCL's functions: `ncclTopoTrimXml`, `ncclTopoFuseXml`. This decides the indices of nodes, and so of channels.
A file that NCCL or a scan wrote is in that order already. Every GPU has a rank afterwards.
"""

from collections.abc import Iterator

from railgauge.topo.xml.element import Element
from railgauge.topo.xml.placed_element import host_of
from railgauge.topo.xml.topology import Topology
from railgauge.topo.xml.tree import ElementBuilder, fuse, trim


def in_fused_order(topology: Topology) -> Element:
    """The tree below <system> in NCCL's order; as it is without GPUs."""
    gpus = ranked_gpus(topology)
    if not gpus:
        return topology.root
    hosts = {id(gpu): _host(cpu) for cpu in topology.cpus for gpu in cpu.walk() if gpu.name == "gpu"}
    holders = dict(_holders(topology.root, frozenset()))
    nets = frozenset().union(*(holders[id(one)] for one in topology.root.walk() if _is_net(one)))
    trees = [
        _rank_tree(topology.root, gpu, rank, hosts[id(gpu)], nets | holders[id(gpu)]) for rank, gpu in enumerate(gpus)
    ]
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


def _holders(element: Element, above: frozenset[int]) -> Iterator[tuple[int, frozenset[int]]]:
    """By the id() of each element from here down its own and those of all that hold it."""
    own = above | {id(element)}
    yield id(element), own
    for child in element.children:
        yield from _holders(child, own)


def _rank_tree(root: Element, gpu: Element, rank: int, host: int | str, holders: frozenset[int]) -> ElementBuilder:
    """What one rank's own XML holds: its GPU, with its rank, and all NICs of its host; `holders` are the id() of these
    and of what holds them.
    """
    tree = ElementBuilder(root.name, root.attributes, root.line)
    for child in root.children:
        kept = None
        if _is_of(child, host):
            kept = trim(child, lambda one: one is gpu or _is_net(one), holds=lambda one: id(one) in holders)
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


def _is_net(element: Element) -> bool:
    return element.name == "net" and element.get("dev") is not None
