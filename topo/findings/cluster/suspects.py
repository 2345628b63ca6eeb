# SPDX-License-Identifier: Apache-2.0
"""Who is at fault when some connections between nodes fail: a node most of whose connections fail, all nodes, or only
the two ends.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum

from railgauge.topo.findings.cluster.reach import Pair
from railgauge.topo.values.number import natural


class SuspectPart(StrEnum):
    """What fails: all, into a node, out of it, both, or between two nodes in one or both directions."""

    ALL = "all"
    INTO = "into"
    OUT_OF = "out of"
    BOTH = "both"
    PAIR = "pair"


ENDS = {SuspectPart.INTO: 1, SuspectPart.OUT_OF: 0}
"""By part, which end of a pair is the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """`failed` of the `of` connections that were tried of its part; nodes: those at fault, empty for all."""

    part: SuspectPart
    nodes: tuple[str, ...]
    failed: frozenset[Pair]
    of: int


def suspects(failed: Set[Pair], tried: Set[Pair]) -> Iterator[Suspect]:
    """Each failure once, those that explain most first. A node is named for more than half of its connections in a
    direction, and no fewer than two.
    """
    left = set(failed)
    if len(left) > 2 and left == tried:
        yield Suspect(part=SuspectPart.ALL, nodes=(), failed=frozenset(left), of=len(left))
        return
    of = {part: Counter(pair[end] for pair in tried) for part, end in ENDS.items()}
    while found := max(_nodes(left, of), key=lambda one: len(one.failed), default=None):
        yield found
        left -= found.failed
    for source, target in sorted(left, key=lambda pair: (natural(pair[0]), natural(pair[1]))):
        both = {(source, target), (target, source)}
        if natural(source) < natural(target) or not both <= left:
            names = (source, target)
            yield Suspect(part=SuspectPart.PAIR, nodes=names, failed=frozenset(both & left), of=len(both & tried))


def _nodes(failed: Set[Pair], of: Mapping[SuspectPart, Mapping[str, int]]) -> Iterator[Suspect]:
    """The candidates, in order; `of`: by part and node how many connections were tried."""
    own: dict[str, dict[SuspectPart, set[Pair]]] = defaultdict(lambda: {part: set() for part in ENDS})
    for pair in failed:
        for part, end in ENDS.items():
            own[pair[end]][part].add(pair)
    for node in sorted(own, key=natural):
        most = [part for part, its in own[node].items() if len(its) > 1 and 2 * len(its) > of[part][node]]
        if most:
            yield Suspect(
                part=most[0] if len(most) == 1 else SuspectPart.BOTH,
                nodes=(node,),
                failed=frozenset(pair for part in most for pair in own[node][part]),
                of=sum(of[part][node] for part in most),
            )
