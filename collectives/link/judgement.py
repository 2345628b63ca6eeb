# SPDX-License-Identifier: Apache-2.0
"""Findings on links and ranks from the measured pairs, each with its figures. Pairs are compared with pairs of their
kind: the same transport, the same prediction; where there are too few, with an older result or the prediction.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.collectives.link.again import MOST_SAMPLES, SEES_ENOUGH_BELOW, again, is_clear
from railgauge.collectives.link.bisection import Bisection
from railgauge.collectives.link.expected import GOOD, LATENCY_TIMES, Beside, OlderLinks, OlderPair, beside
from railgauge.collectives.link.link_result import LinkResult
from railgauge.collectives.link.odd import LEAST_LOSS, LEAST_RANKS, Directed, Judged, Odd, odd_ones
from railgauge.collectives.link.pair_result import FILLS_BYTES, Kind, PairResult, PairSample
from railgauge.collectives.link.tournament import Pair
from railgauge.topo.findings.card import Card
from railgauge.topo.findings.cards.links import LINK_LATENCY, NODE_LATENCY, SLOW_LINK, SLOW_NODE
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.values.node_names import folded

FAILS_BELOW = 0.5
"""Below this share of the usual speed: FAIL; slow, but above it: WARN."""
TRY = " (other load? try --one-at-a-time, or a larger -n or -b)"
CROWDED = "more ranks than cores, so ranks waited for each other"


@dataclass(frozen=True, slots=True)
class Quantity:
    """The quantity by which pairs are compared, as a speed: higher is better."""

    name: str
    unit: str
    of_rank: Card
    of_link: Card

    def speeds(self, sample: PairSample) -> tuple[float, float]:
        """One for each direction; a round trip has only one."""
        return sample.gb_per_s if self is BANDWIDTH else (1 / max(sample.latency_us, 1e-6),) * 2

    def value(self, speed: float) -> str:
        """As people read it."""
        return f"{speed if self is BANDWIDTH else 1 / speed:.3g} {self.unit}"


BANDWIDTH = Quantity("bandwidth", "GB/s", SLOW_NODE, SLOW_LINK)
LATENCY = Quantity("latency", "us", NODE_LATENCY, LINK_LATENCY)
QUANTITIES = (BANDWIDTH, LATENCY)


def kinds(links: Sequence[PairResult]) -> dict[Kind, list[PairResult]]:
    """The pairs that should be equally fast, in order of first appearance of their kinds."""
    found: dict[Kind, list[PairResult]] = {}
    for link in links:
        found.setdefault(link.kind, []).append(link)
    return found


def to_measure_again(links: Sequence[PairResult]) -> list[int]:
    """The indices of those pairs that must be measured again, alone, before judging; none in the end."""
    found: set[tuple[Kind, Pair]] = set()
    for kind, alike in kinds(links).items():
        measured = {link.ranks: link.measured for link in alike}
        for quantity in QUANTITIES:
            judged = _judged(alike, quantity)
            pairs = again(judged, measured) if judged else _low(alike, quantity)
            found |= {(kind, pair) for pair in pairs}
    return [place for place, link in enumerate(links) if (link.kind, link.ranks) in found]


def _low(alike: Sequence[PairResult], quantity: Quantity) -> set[Pair]:
    """The pairs below their prediction, until they were measured often enough."""
    return {
        link.ranks
        for link in alike
        if not link.crowded
        and link.measured < MOST_SAMPLES
        and any(_reached(one, quantity) < 1 for one in beside(link, quantity is LATENCY, None))
    }


def judge(result: LinkResult, older: OlderLinks | None = None) -> list[Finding]:
    """All findings, the worst of each kind first; UNKNOWN where nothing is there to compare with."""
    if result.bisection:
        return [_of_bisection(result, result.bisection)]
    return [
        finding
        for alike in kinds(result.links).values()
        for quantity in QUANTITIES
        for finding in _of_kind(result, alike, quantity, older)
    ]


def _judged(alike: Sequence[PairResult], quantity: Quantity) -> Judged | None:
    if alike[0].crowded:
        return None
    samples: dict[Directed, list[float]] = {}
    for link in alike:
        there, back = zip(*(quantity.speeds(sample) for sample in link.samples), strict=True)
        samples |= {link.ranks: list(there), link.ranks[::-1]: list(back)}
    return odd_ones(samples)


def _of_kind(
    result: LinkResult, alike: Sequence[PairResult], quantity: Quantity, older: OlderLinks | None
) -> Iterator[Finding]:
    judged = _judged(alike, quantity)
    if not alike[0].crowded and (older or judged is None) and (expected := _expected(result, alike, quantity, older)):
        if judged is None or expected.level is not Level.PASS:
            yield expected
        if judged is None:
            return
    if judged:
        yield from (_of_odd(result, alike, quantity, odd) for odd in judged.odd)
        if judged.odd and not judged.unsure and is_clear(judged):
            return
    many = f"{len(alike)} comparable pair{'s' * (len(alike) > 1)}"
    level, said = Level.PASS, f"none of {many} stands out"
    if alike[0].crowded:
        level, said = Level.UNKNOWN, f"{CROWDED}: --one-at-a-time avoids that"
    elif judged is None and alike[0].is_short and quantity is BANDWIDTH:
        level = Level.UNKNOWN
        said = f"messages of {result.job.bytes} bytes are too short to show what a path carries: try -b {FILLS_BYTES}"
    elif judged is None:
        level = Level.UNKNOWN
        said = f"too few to compare: {many} (needs at least {LEAST_RANKS} {result.noun}s), and nothing is predicted"
    elif judged.unsure:
        level = Level.UNKNOWN
        times = max(link.measured for link in alike)
        often = f"{times} measurement{'s' * (times > 1)}"
        said = f"{_names(result, judged.unsure)} slow in {often}: a slow link, a slow {result.noun}, or noise{TRY}"
    elif judged.faster:
        level = Level.UNKNOWN
        said = f"{_names(result, judged.faster)} much faster than most: most may be slow{TRY}"
    elif judged.sees_below < SEES_ENOUGH_BELOW:
        level = Level.UNKNOWN
        said = f"{many} vary so much that one at half the usual speed would not stand out{TRY}"
    evidence = {"pairs": len(alike), "quantity": quantity.name}
    message = f"{alike[0].way_name}: {quantity.name}: {said}"
    yield quantity.of_link.finding(level, alike[0].way_name, message, fix=False, evidence=evidence)


def _expected(
    result: LinkResult, alike: Sequence[PairResult], quantity: Quantity, older: OlderLinks | None
) -> Finding | None:
    """The pair that is furthest below what an older result or the prediction has of it; None without either."""
    found = [
        (one, link, way)
        for link in alike
        for way, one in enumerate(beside(link, quantity is LATENCY, OlderPair(result, link, older) if older else None))
    ]
    if not found:
        return None
    one, link, way = min(found, key=lambda each: _reached(each[0], quantity))
    share = one.measured / one.expected
    slow = [each for each in found if _reached(each[0], quantity) < 1]
    level = Level.PASS
    if slow:
        level = Level.FAIL if quantity is BANDWIDTH and share < FAILS_BELOW else Level.WARN
    ends = [result.name(rank) for rank in (link.ranks if way == 0 else link.ranks[::-1])]
    times = f"{share:.2g} of" if quantity is BANDWIDTH else f"{share:.3g} times"
    more = f"; {len(slow) - 1} more of {len(found)} are slow" if len(slow) > 1 else ""
    message = f"{link.way_name}: {quantity.name}: {one.measured:.3g} {quantity.unit}, {times} {one.whose}{more}"
    return quantity.of_link.finding(
        level,
        " - ".join(ends),
        message,
        host=folded({result.ranks[rank].host for rank in link.ranks}) if slow else "",
        fix=bool(slow),
        evidence={"ranks": list(link.ranks), "quantity": quantity.name, "ratio": share, "older": one.older},
    )


def _reached(one: Beside, quantity: Quantity) -> float:
    """A figure over the worst that is still good: below 1 it is slow."""
    if quantity is BANDWIDTH:
        return one.measured / (GOOD * one.expected)
    return LATENCY_TIMES[one.older] * one.expected / one.measured


def _of_odd(result: LinkResult, alike: Sequence[PairResult], quantity: Quantity, odd: Odd) -> Finding:
    names, is_rank = [result.name(rank) for rank in odd.ranks], len(odd.ranks) == 1
    card = quantity.of_rank if is_rank else quantity.of_link
    level = Level.FAIL if quantity is BANDWIDTH and odd.ratio < FAILS_BELOW else Level.WARN
    own = [link for link in alike if set(odd.ranks) <= set(link.ranks)]
    others = f"the other {result.noun}s" if is_rank else "the other pairs"
    what = f"{f'most of its links{_direction(odd)} have ' if is_rank else ''}{quantity.value(odd.speed)}"
    message = f"{what}, {_times(odd, quantity)} of what {others} have ({quantity.value(odd.usual)})"
    back = max(own[0].gb_per_s)
    if not is_rank and len(odd.slow) == 1 and odd.speed < (1 - LEAST_LOSS) * back:
        low, high = (result.name(rank) for rank in odd.slow[0])
        message += f", only from {low} to {high}; {back:.3g} GB/s back"
    return card.finding(
        level,
        " - ".join(names),
        f"{own[0].way_name}: {message}",
        host=folded({result.ranks[rank].host for rank in odd.ranks}),
        evidence={
            "ranks": list(odd.ranks),
            "slow": [list(each) for each in odd.slow],
            "quantity": quantity.name,
            "ratio": odd.ratio if quantity is BANDWIDTH else 1 / odd.ratio,
            "pairs": len(alike),
            "measured": max(link.measured for link in own),
        },
        effect="a ring is as fast as its slowest link" if quantity is BANDWIDTH else "",
    )


def _names(result: LinkResult, pairs: Sequence[Pair]) -> str:
    return ", ".join(" - ".join(result.name(rank) for rank in pair) for pair in pairs)


def _direction(odd: Odd) -> str:
    """The direction in which a rank is slow; empty if it is slow in both."""
    sending = {each[0] == odd.ranks[0] for each in odd.slow}
    return "" if len(sending) == 2 else " when it sends" if sending == {True} else " when it receives"


def _times(odd: Odd, quantity: Quantity) -> str:
    return f"{odd.ratio:.2f}" if quantity is BANDWIDTH else f"{1 / odd.ratio:.1f} times"


def _of_bisection(result: LinkResult, found: Bisection) -> Finding:
    evidence: Mapping[str, object] = {"ranks": found.slow, "ratio": found.last_ratio, "steps": len(found.steps)}
    names = folded(result.name(rank) for rank in found.slow)
    if found.crowded:
        message = f"{CROWDED}: cannot compare halves"
        return SLOW_NODE.finding(Level.UNKNOWN, "all", message, fix=False, evidence=evidence)
    if not found.slow:
        message = "both halves are equally fast: no single rank is slow (a slow one in each half would not show)"
        return SLOW_NODE.finding(Level.PASS, "all", message, evidence=evidence)
    level = Level.FAIL if found.last_ratio < FAILS_BELOW else Level.WARN
    if len(found.slow) == 1:
        message = f"rings with it have {found.last_ratio:.2f} of the speed of those without"
        host = result.ranks[found.slow[0]].host
        return SLOW_NODE.finding(level, names, message, host=host, evidence=evidence)
    message = (
        f"rings of these have {found.last_ratio:.2f} of the speed of others, but neither half alone has: "
        f"a link between them, or several slow ranks"
    )
    return SLOW_LINK.finding(level, names, message, evidence=evidence)
