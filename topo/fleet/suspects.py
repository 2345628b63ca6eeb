# SPDX-License-Identifier: Apache-2.0
"""Who is at fault when some of the connections that were tried between nodes fail: a node that most of its own fail of,
all of them, or nobody but the two ends.
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from enum import StrEnum

from railgauge.topo.fleet.reach import Pair
from railgauge.topo.natural_order import natural


class Part(StrEnum):
    """What fails: all, what comes into a node, what goes out of it, both, or between two nodes in one or both ways."""

    ALL = "all"
    INTO = "into"
    OUT_OF = "out of"
    BOTH = "both"
    PAIR = "pair"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """`failed` of the `of` connections that were tried of its part; nodes: those that are named, none for all."""

    part: Part
    nodes: tuple[str, ...]
    failed: frozenset[Pair]
    of: int


def suspects(failed: Set[Pair], tried: Set[Pair]) -> Iterator[Suspect]:
    """Each failure once, those first that explain most. A node is named for more than half of its connections in a
    direction, and no fewer than two.
    """
    left = set(failed)
    if len(left) > 2 and left == tried:
        yield Suspect(part=Part.ALL, nodes=(), failed=frozenset(left), of=len(left))
        return
    while found := max(_nodes(left, tried), key=lambda one: len(one.failed), default=None):
        yield found
        left -= found.failed
    for source, target in sorted(left, key=lambda pair: (natural(pair[0]), natural(pair[1]))):
        both = {(source, target), (target, source)} & left
        if natural(source) < natural(target) or len(both) == 1:
            of = len({(source, target), (target, source)} & tried)
            yield Suspect(part=Part.PAIR, nodes=(source, target), failed=frozenset(both), of=of)


def _nodes(failed: Set[Pair], tried: Set[Pair]) -> Iterator[Suspect]:
    """The nodes that may be named, in their order."""
    for node in sorted({node for pair in failed for node in pair}, key=natural):
        ways = {Part.INTO: 1, Part.OUT_OF: 0}
        own = {part: {pair for pair in failed if pair[end] == node} for part, end in ways.items()}
        of = {part: sum(1 for pair in tried if pair[end] == node) for part, end in ways.items()}
        most = [part for part in ways if len(own[part]) > 1 and 2 * len(own[part]) > of[part]]
        if most:
            yield Suspect(
                part=most[0] if len(most) == 1 else Part.BOTH,
                nodes=(node,),
                failed=frozenset(pair for part in most for pair in own[part]),
                of=sum(of[part] for part in most),
            )
