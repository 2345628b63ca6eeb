# SPDX-License-Identifier: Apache-2.0
"""Which nodes reach which, over which interfaces: what was tried and what failed. Records: transports/probe tries."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from itertools import chain, permutations, product

from railgauge.topo.findings.cluster.endpoints import Endpoint, Use
from railgauge.topo.values.number import natural

Way = tuple[int, int]
"""From one of a node's endpoints to one of another's, by their places."""
Rail = tuple[Use, Use]
"""NCCL's use of the two ends of a connection; equal unless channels cross NICs."""
Pair = tuple[str, str]
"""Source and target."""


class Stage(StrEnum):
    """The stage that a connection reached."""

    CONNECT = "connect"
    GREETING = "greeting"  # it connects; then both ends identify themselves
    DATA = "data"  # identified; then a message of many packets


class Hint(StrEnum):
    """The reason, as known to the node that tried."""

    NONE = ""
    NO_ROUTE = "no-route"  # its own routes refuse
    NO_NEIGHBOUR = "no-neighbour"  # no host in its network answers for the address
    STRANGER = "stranger"  # another node answers, or another program


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedConnection:
    """A connection between two nodes that failed at a stage, with the errno that NCCL would see, after some seconds.

    port: where the target listened. answered_by: the node that answered, if it is another.
    """

    source: str
    target: str
    way: Way
    stage: Stage
    errno: int
    seconds: float
    port: int
    hint: Hint = Hint.NONE
    answered_by: str = ""


@dataclass(slots=True, kw_only=True)
class RailReach:
    """The attempts on one rail: `tried` connections between `nodes`, of which `failed` failed.

    over: the interfaces by name if it is the same on all, else the rail. pairs: those that were tried, kept only
    if some failed.
    """

    over: str = ""
    tried: int = 0
    nodes: set[str] = field(default_factory=set)
    failed: set[Pair] = field(default_factory=set)
    pairs: set[Pair] = field(default_factory=set)


@dataclass(frozen=True, kw_only=True)
class ClusterReach:
    """All connection attempts between some nodes.

    nodes: the endpoints of each. across: rails of unequal uses that the plan joins. untried: pairs without
    time left. silent: nodes that did not take part to the end, and why; their attempts do not count. deaf: endpoints
    where a node could not listen, by node and place, and why. filtered: packets that the reverse-path filters dropped
    meanwhile, by node.
    """

    nodes: Mapping[str, Sequence[Endpoint]]
    across: frozenset[Rail] = frozenset()
    failures: tuple[FailedConnection, ...] = ()
    untried: frozenset[Pair] = frozenset()
    silent: Mapping[str, str] = field(default_factory=dict)
    deaf: Mapping[tuple[str, int], str] = field(default_factory=dict)
    filtered: Mapping[str, int] = field(default_factory=dict)

    def rail(self, failure: FailedConnection) -> Rail:
        """The rail that a failure is on."""
        here, there = self.nodes[failure.source][failure.way[0]], self.nodes[failure.target][failure.way[1]]
        return next(rail for _, rail in _matches((here.uses,), (there.uses,), self.across))

    @cached_property
    def rows(self) -> Mapping[Rail, RailReach]:
        """The matrix: by rail what was tried and what failed."""
        rows: dict[Rail, RailReach] = defaultdict(RailReach)
        names: dict[Rail, set[tuple[str, str]]] = defaultdict(set)
        for one in self.failures:
            rows[self.rail(one)].failed.add((one.source, one.target))
        for pair, way, rail in self._tried():
            row = rows[rail]
            row.tried += 1
            row.nodes.update(pair)
            if row.failed:
                row.pairs.add(pair)
            names[rail].add((self.nodes[pair[0]][way[0]].interface, self.nodes[pair[1]][way[1]].interface))
        for rail, row in rows.items():
            row.over = _named(*(next(iter(names[rail])) if len(names[rail]) == 1 else rail))
        return dict(sorted(rows.items(), key=lambda one: [natural(use) for use in one[0]]))

    def _tried(self) -> Iterator[tuple[Pair, Way, Rail]]:
        for source, target in permutations([name for name in self.nodes if name not in self.silent], 2):
            if (source, target) not in self.untried:
                for way, rail in ways(self.nodes[source], self.nodes[target], self.across):
                    if (source, way[0]) not in self.deaf and (target, way[1]) not in self.deaf:
                        yield (source, target), way, rail


def ways(source: Sequence[Endpoint], target: Sequence[Endpoint], across: frozenset[Rail]) -> list[tuple[Way, Rail]]:
    """The endpoints over which a node connects to another: those of one use, and those that the plan joins besides.

    Not between two ends with the same address, nor between versions of IP.
    """
    matches = _matches(tuple(one.uses for one in source), tuple(one.uses for one in target), across)
    return [(way, rail) for way, rail in matches if _leads(source[way[0]].address, target[way[1]].address)]


def _leads(here: str, there: str) -> bool:
    return here != there and (":" in here) == (":" in there)


@cache
def _matches(
    source: tuple[tuple[Use, ...], ...], target: tuple[tuple[Use, ...], ...], across: frozenset[Rail]
) -> tuple[tuple[Way, Rail], ...]:
    """The pairs of endpoints of these uses, each with its rail: the first common use, else one across."""
    found = []
    for (place, here), (other, there) in product(enumerate(source), enumerate(target)):
        same = ((use, use) for use in here if use in there)
        joined = (pair for pair in product(here, there) if pair in across)
        if rail := next(chain(same, joined), None):
            found.append(((place, other), rail))
    return tuple(found)


def _named(here: str, there: str) -> str:
    return here if here == there else f"{here} to {there}"
