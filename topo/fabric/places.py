# SPDX-License-Identifier: Apache-2.0
"""Which nodes are close: blocks of nodes on the same leaves, and groups of blocks that lower tiers of switches join."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from railgauge.topo.fabric.model import FabricMap
from railgauge.topo.fabric.rails import FabricRails
from railgauge.topo.values.number import natural


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Nodes on the same leaves, those of all compute rails."""

    nodes: tuple[str, ...]
    leaves: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Places:
    """Blocks, and for each tier of switches above the leaves their groups, as tuples of places in `blocks`.

    switches: for each tier and group the switches of that tier in it.
    """

    blocks: tuple[Block, ...]
    groups: tuple[tuple[tuple[int, ...], ...], ...]
    switches: tuple[tuple[tuple[str, ...], ...], ...]

    @cached_property
    def block_of(self) -> Mapping[str, int]:
        """The place of each node's block."""
        return {node: place for place, block in enumerate(self.blocks) for node in block.nodes}

    def path(self, block: int) -> tuple[int, ...]:
        """The groups that a block is in, the highest first, and the block."""
        above = (next(place for place, group in enumerate(tier) if block in group) for tier in reversed(self.groups))
        return (*above, block)


def find_places(fabric: FabricMap, rails: FabricRails) -> Places:
    """Blocks and groups of the nodes that are on compute rails."""
    leaves = [leaf for rail in rails.compute for leaf in rail.leaves]
    at: dict[str, list[str]] = {}
    for leaf in leaves:
        for one in fabric.on_leaf[leaf]:
            if leaf not in at.setdefault(one.node, []):
                at[one.node].append(leaf)
    blocks = _blocks(at)
    groups, switches = [], []
    for tier in range(1, max(fabric.tier_of.values(), default=0) + 1):
        found = _joined(fabric, blocks, tier)
        groups.append(tuple(found))
        switches.append(tuple(_switches(fabric, [blocks[place] for place in group], tier) for group in found))
        if len(found) == 1:
            break
    return Places(blocks=tuple(blocks), groups=tuple(groups), switches=tuple(switches))


def _blocks(at: Mapping[str, Sequence[str]]) -> list[Block]:
    """Nodes by their leaves; one with a few leaves of its own, such as a miswired one, joins where most are."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for node, leaves in at.items():
        kinds.setdefault(tuple(leaves), []).append(node)
    chosen: dict[tuple[str, ...], list[str]] = {}
    of_leaf: dict[str, list[tuple[str, ...]]] = {}
    for leaves, nodes in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        near = {kind for leaf in leaves for kind in of_leaf.get(leaf, ())}
        best = max(near, key=lambda kind: len(set(kind) & set(leaves)), default=None)
        if best is not None and len(set(best) & set(leaves)) * 2 > len(leaves):
            chosen[best] += nodes
            continue
        chosen[leaves] = nodes
        for leaf in leaves:
            of_leaf.setdefault(leaf, []).append(leaves)
    blocks = [Block(nodes=tuple(sorted(nodes, key=natural)), leaves=leaves) for leaves, nodes in chosen.items()]
    return sorted(blocks, key=lambda block: natural(block.nodes[0]))


def _joined(fabric: FabricMap, blocks: Sequence[Block], tier: int) -> list[tuple[int, ...]]:
    """Blocks that are in one network if there were no switches above a tier."""
    parent = {key: key for key, its in fabric.tier_of.items() if its <= tier}

    def root(key: str) -> str:
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for cable in fabric.trunks:
        one, other = (end.device for end in cable.ends)
        if one in parent and other in parent:
            parent[root(one)] = root(other)
    for block in blocks:
        for leaf in block.leaves[1:]:
            parent[root(leaf)] = root(block.leaves[0])
    found: dict[str, list[int]] = {}
    for place, block in enumerate(blocks):
        found.setdefault(root(block.leaves[0]), []).append(place)
    return [tuple(places) for places in found.values()]


def _switches(fabric: FabricMap, blocks: Sequence[Block], tier: int) -> tuple[str, ...]:
    """The switches of a tier that are above some blocks."""
    below = {leaf for block in blocks for leaf in block.leaves}
    for height in range(1, tier + 1):
        below = {
            high.device
            for cable in fabric.trunks
            for low, high in (cable.ends, cable.ends[::-1])
            if low.device in below and fabric.tier_of[high.device] == height
        }
    return tuple(sorted(below, key=lambda key: natural(fabric.switches[key].name)))
