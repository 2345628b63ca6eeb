# SPDX-License-Identifier: Apache-2.0
"""A channel's two trees over all nodes: within a node a chain from its first rank, and a binary tree over the nodes.

`ncclTopoPreset` and `connectTrees` of NCCL's src/graph/connect.cc. The chain's first rank has the parent on another
node; which ranks have its two children there depends on the pattern: the first rank (tree), the second (split tree),
or one each (balanced tree).
"""

from dataclasses import dataclass
from itertools import pairwise

from railgauge.topo.channels.edge import Edge
from railgauge.topo.channels.graph import SPLIT_TREE, TREE
from railgauge.topo.channels.member import MemberNode, edge
from railgauge.topo.channels.trees import TreePlace, double_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedTree:
    """The parent of each rank (None for the root), the children of each in NCCL's order, and the steps to the parents.

    Data goes up these steps and down again.
    """

    parents: tuple[int | None, ...]
    children: tuple[tuple[int, ...], ...]
    edges: tuple[Edge, ...]

    @property
    def root(self) -> int:
        """The rank without a parent."""
        return self.parents.index(None)


def join_trees(members: tuple[MemberNode, ...], number: int) -> tuple[JoinedTree, JoinedTree]:
    """Both trees of channel `number`."""
    places = [double_tree(len(members), node) for node in range(len(members))]
    first, second = ([pair[which] for pair in places] for which in (0, 1))
    return _tree(members, number, first), _tree(members, number, second)


def _tree(members: tuple[MemberNode, ...], number: int, places: list[TreePlace]) -> JoinedTree:
    """The chains within the nodes first, then each node's lower child and its higher one: NCCL's order of children."""
    edges = [step for member in members for step in _chain(_ranks(member, number))]
    for member, place in zip(members, places, strict=True):
        for child, high in zip((place.lower, place.higher), _arms(member, number), strict=True):
            if child is not None:
                below = members[child]
                graphs, ends = (below.graphs.tree, member.graphs.tree), (_ranks(below, number)[0], high)
                edges.append(edge((below, member), graphs, number, ends))
    return _from_edges(sum(member.size for member in members), edges)


def _chain(ranks: tuple[int, ...]) -> list[Edge]:
    return [Edge(source=low, target=high) for high, low in pairwise(ranks)]


def _ranks(member: MemberNode, number: int) -> tuple[int, ...]:
    return member.ranks(member.graphs.tree.channels[number])


def _arms(member: MemberNode, number: int) -> tuple[int, int]:
    """The ranks of a node that are parents of its lower and its higher child node."""
    ranks, pattern = _ranks(member, number), member.graphs.tree.pattern
    if len(ranks) == 1 or pattern == TREE:
        return ranks[0], ranks[0]
    return ranks[1], ranks[1] if pattern == SPLIT_TREE else ranks[0]


def _from_edges(size: int, edges: list[Edge]) -> JoinedTree:
    parents: list[int | None] = [None] * size
    children: list[list[int]] = [[] for _ in range(size)]
    for step in edges:
        parents[step.source] = step.target
        children[step.target].append(step.source)
    return JoinedTree(parents=tuple(parents), children=tuple(map(tuple, children)), edges=tuple(edges))
