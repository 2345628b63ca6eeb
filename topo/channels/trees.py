# SPDX-License-Identifier: Apache-2.0
"""The two binary trees over nodes that NCCL 2.30 joins trees by (`ncclGetBtree`, `ncclGetDtree` of src/graph/trees.cc).

In each tree leaves and inner nodes alternate. The second is the first, mirrored for an even number of nodes and
shifted by one for an odd one, so that each node is inner in at most one of them, except node 0 of an odd number.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlace:
    """The place of a node in a tree: its parent (None for the root), its lower and higher child (None without one).

    Lower and higher than itself in number, before the tree is mirrored or shifted: NCCL's child types 0 and 1.
    """

    parent: int | None
    lower: int | None
    higher: int | None


def binary_tree(count: int, node: int) -> TreePlace:
    """The place of `node` in the tree over `count` nodes; the root is 0 and has only a higher child."""
    bit = _lowest_bit(count, node)
    if node == 0:
        return TreePlace(parent=None, lower=None, higher=bit >> 1 if count > 1 else None)
    parent = (node ^ bit) | bit << 1
    if parent >= count:
        parent = node ^ bit
    half = bit >> 1
    return TreePlace(
        parent=parent,
        lower=node - half if half else None,
        higher=_within(count, node, half),
    )


def _lowest_bit(count: int, node: int) -> int:
    """The lowest bit that is set in `node`; for 0 the least power of two that is not below `count`."""
    return node & -node if node else 1 << (count - 1).bit_length()


def _within(count: int, node: int, step: int) -> int | None:
    """The nearest existing node of node + step, node + step/2, ..."""
    while step and node + step >= count:
        step >>= 1
    return node + step if step else None


def double_tree(count: int, node: int) -> tuple[TreePlace, TreePlace]:
    """The places of `node` in both trees over `count` nodes."""
    first = binary_tree(count, node)
    if count % 2:
        return first, _renumbered(binary_tree(count, (node - 1) % count), lambda other: (other + 1) % count)
    return first, _renumbered(binary_tree(count, count - 1 - node), lambda other: count - 1 - other)


def _renumbered(place: TreePlace, number: Callable[[int], int]) -> TreePlace:
    parent, lower, higher = (None if one is None else number(one) for one in (place.parent, place.lower, place.higher))
    return TreePlace(parent=parent, lower=lower, higher=higher)
