# SPDX-License-Identifier: Apache-2.0
"""What the measured pairs say of links and ranks: findings, each with its figures. Pairs are judged by pairs of their
kind: the same way, the same prediction.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.collectives.link.bisection import Bisection
from railgauge.collectives.link.link_result import LinkResult
from railgauge.collectives.link.odd import LEAST_RANKS, Judged, Odd, odd_ones
from railgauge.collectives.link.pair_result import Kind, PairResult
from railgauge.topo.findings import Finding, Level
from railgauge.topo.fleet.node_names import folded
from railgauge.topo.link_rules import LINK_LATENCY, NODE_LATENCY, SLOW_LINK, SLOW_NODE
from railgauge.topo.rules.rule import Rule

FAILS_BELOW = 0.5
"""Of the usual speed: FAIL; what is slow at all: WARN."""
CROWDED = "more ranks than cores, so that they waited for each other"
WITHIN = "look at what else runs on their cores and at the clock of these (`railgauge check`: cpu-governor)"

BETWEEN_GPUS = (
    "look at its NVLinks and PCIe link (`railgauge check`, `nvidia-smi nvlink -s` and `-e`), its clocks, "
    "and what else runs on it"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """What pairs are compared by, as a speed: the more the better."""

    name: str
    unit: str
    of_rank: Rule
    of_link: Rule

    def speed(self, pair: PairResult) -> float:
        """Bandwidth counts in its slower direction."""
        return pair.slower_gb_per_s if self is BANDWIDTH else 1 / max(pair.latency_us, 1e-6)

    def value(self, speed: float) -> str:
        """As people read it."""
        return f"{speed if self is BANDWIDTH else 1 / speed:.3g} {self.unit}"


BANDWIDTH = Quantity("bandwidth", "GB/s", SLOW_NODE, SLOW_LINK)
LATENCY = Quantity("latency", "us", NODE_LATENCY, LINK_LATENCY)
QUANTITIES = (BANDWIDTH, LATENCY)


def kinds(links: Sequence[PairResult]) -> dict[Kind, list[PairResult]]:
    """The pairs that should be alike, in the order in which their kinds first come."""
    found: dict[Kind, list[PairResult]] = {}
    for link in links:
        found.setdefault(link.kind, []).append(link)
    return found


def suspects(links: Sequence[PairResult]) -> list[int]:
    """The places of those pairs that stand out, or that have a rank that does: to be measured once more, alone."""
    found: set[tuple[Kind, tuple[int, ...]]] = set()
    for kind, alike in kinds(links).items():
        for quantity in QUANTITIES:
            judged = _judged(alike, quantity)
            found |= {(kind, odd.ranks) for odd in judged.odd} if judged else set()
    return [
        place
        for place, link in enumerate(links)
        if any(kind == link.kind and set(ranks) <= set(link.ranks) for kind, ranks in found)
    ]


def judge(result: LinkResult) -> list[Finding]:
    """All that can be said, the worst of each kind first; UNKNOWN where a kind has too few pairs to say anything."""
    if result.bisection:
        return [_of_bisection(result, result.bisection)]
    return [
        finding
        for alike in kinds(result.links).values()
        for quantity in QUANTITIES
        for finding in _of_kind(result, alike, quantity)
    ]


def _judged(alike: Sequence[PairResult], quantity: Quantity) -> Judged | None:
    if alike[0].crowded:
        return None
    return odd_ones({link.ranks: quantity.speed(link) for link in alike})


def _of_kind(result: LinkResult, alike: Sequence[PairResult], quantity: Quantity) -> Iterator[Finding]:
    judged = _judged(alike, quantity)
    if judged and judged.odd:
        yield from (_of_odd(result, alike, quantity, odd) for odd in judged.odd)
        return
    many = f"{len(alike)} like pair{'s' * (len(alike) > 1)}"
    level, said = Level.PASS, f"none of {many} stands out"
    if alike[0].crowded:
        level, said = Level.UNKNOWN, f"{CROWDED}: --one-at-a-time measures without that"
    elif judged is None:
        level = Level.UNKNOWN
        said = f"nothing can be said of {many}: it takes the pairs of {LEAST_RANKS} {result.noun}s"
    elif judged.sees_below < FAILS_BELOW:
        level = Level.UNKNOWN
        said = (
            f"{many} scatter so widely that one of half the usual speed would not stand out "
            f"(another load? --one-at-a-time, a larger -n or -b)"
        )
    yield Finding(
        id=quantity.of_link.id,
        level=level,
        subject=alike[0].way_name,
        message=f"{quantity.name}: {said}",
        evidence={"pairs": len(alike), "quantity": quantity.name},
    )


def _of_odd(result: LinkResult, alike: Sequence[PairResult], quantity: Quantity, odd: Odd) -> Finding:
    names, is_rank = [result.name(rank) for rank in odd.ranks], len(odd.ranks) == 1
    rule = quantity.of_rank if is_rank else quantity.of_link
    level = Level.FAIL if quantity is BANDWIDTH and odd.ratio < FAILS_BELOW else Level.WARN
    own = [link for link in alike if set(odd.ranks) <= set(link.ranks)]
    others = f"the other {result.noun}s" if is_rank else "the other pairs"
    what = f"{'most of its links have ' if is_rank else ''}{quantity.value(odd.speed)}"
    message = f"{what}, {_times(odd, quantity)} of what {others} have ({quantity.value(odd.usual)})"
    directions = own[0].gb_per_s
    if not is_rank and quantity is BANDWIDTH and min(directions) < 0.75 * max(directions):
        low, high = names if directions[0] < directions[1] else names[::-1]
        message += f", only from {low} to {high}; {max(directions):.3g} GB/s back"
    return Finding(
        id=rule.id,
        level=level,
        host=folded({result.ranks[rank].host for rank in odd.ranks}),
        subject=" - ".join(names),
        message=f"{own[0].way_name}: {message}",
        evidence={
            "ranks": list(odd.ranks),
            "quantity": quantity.name,
            "ratio": odd.ratio if quantity is BANDWIDTH else 1 / odd.ratio,
            "pairs": len(alike),
            "measured": max(link.measured for link in own),
        },
        effect="a ring is as fast as its slowest link" if quantity is BANDWIDTH else "",
        remedy=rule.remedy if own[0].crosses else BETWEEN_GPUS if own[0].path else WITHIN,
    )


def _times(odd: Odd, quantity: Quantity) -> str:
    return f"{odd.ratio:.2f}" if quantity is BANDWIDTH else f"{1 / odd.ratio:.1f} times"


def _of_bisection(result: LinkResult, found: Bisection) -> Finding:
    evidence: Mapping[str, object] = {"ranks": found.slow, "ratio": found.last_ratio, "steps": len(found.steps)}
    names = folded(result.name(rank) for rank in found.slow)
    if found.crowded:
        message = f"{CROWDED}: halves cannot be compared"
        return Finding(id=SLOW_NODE.id, level=Level.UNKNOWN, subject="all", message=message, evidence=evidence)
    if not found.slow:
        message = "both halves are equally fast: no single rank is slow (one in each half would not show)"
        return Finding(id=SLOW_NODE.id, level=Level.PASS, subject="all", message=message, evidence=evidence)
    level = Level.FAIL if found.last_ratio < FAILS_BELOW else Level.WARN
    if len(found.slow) == 1:
        message = f"rings with it have {found.last_ratio:.2f} of the speed of those without"
        host = result.ranks[found.slow[0]].host
        return Finding(
            id=SLOW_NODE.id,
            level=level,
            host=host,
            subject=names,
            message=message,
            evidence=evidence,
            remedy=SLOW_NODE.remedy,
        )
    message = (
        f"rings of these have {found.last_ratio:.2f} of the speed of others, and no half of them alone: "
        f"a link between them, or several slow ranks"
    )
    rule = SLOW_LINK
    return Finding(id=rule.id, level=level, subject=names, message=message, evidence=evidence, remedy=rule.remedy)
