# SPDX-License-Identifier: Apache-2.0
"""Ranks that have not called the operation that others are in."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import RANK_BEHIND
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.hold import Hold
from railgauge.topo.jobs.hang.model import JOB, named
from railgauge.topo.jobs.hang.rules.words import (
    are_missing,
    complaints,
    effect_of,
    evidence,
    evidence_of,
    of_stacks,
    wait,
)
from railgauge.topo.jobs.hang.standstill import Standstill

FEW = 4  # ranks that wait elsewhere and are named one by one
CIRCLE = "the ranks wait for each other in a circle: communicators are used in different orders"


def _check(standstill: Standstill) -> Iterator[Finding]:
    for hold in standstill.blame.behind:
        yield _finding(hold, standstill, effect_of(standstill.blame.follows(hold)))
    for hold in standstill.blame.circles:
        yield _finding(hold, standstill, CIRCLE)
    yield from _unnamed(standstill)
    yield from complaints(standstill, RULE, Level.FAIL)


def _finding(hold: Hold, standstill: Standstill, effect: str) -> Finding:
    elsewhere = standstill.blame.elsewhere(hold)
    parts = [are_missing(hold, hold.behind), *([wait(hold)] if hold.waiting else [])]
    parts += [f"rank {rank} waits in {one.operation} of {one.comm.title}" for rank, one in elsewhere.items()][:FEW]
    parts += [] if elsewhere or hold.lane.peers else _last(hold)
    parts += [f"no data from {named(hold.silent)}"] if hold.silent else []
    its = [one for one in standstill.scene.stacks if one.rank in hold.behind and hold.comm.numbering == JOB]
    parts += [f"by its stack {of_stacks(its, FEW)}"] if its else []
    evidence = evidence_of(hold, hold.behind, standstill.blame.follows(hold))
    return RULE.finding(Level.FAIL, hold.comm.title, "; ".join(parts), effect=effect, **evidence)


def _last(hold: Hold) -> list[str]:
    """The last call of those that are behind, if it is the same."""
    tracks = [hold.lane.tracks[rank] for rank in hold.behind]
    calls = {(track.entered, track.calls.get(track.entered)) for track in tracks}
    if len({number for number, _ in calls}) > 1:
        return []
    number, call = calls.pop()
    who = "it" if len(tracks) == 1 else "they"
    if number < 0 or (number == 0 and call is None):
        return [] if hold.name else [f"{who} had called no operation before"]
    return [
        f"{'its' if who == 'it' else 'their'} last call: {call.name if call else hold.name or 'collective'} #{number}"
    ]


def _unnamed(standstill: Standstill) -> Iterator[Finding]:
    """Counts that RAS reports without ranks."""
    for comm in standstill.scene.communicators.values():
        for name, lane in comm.lanes.items():
            if len(lane.unnamed) > 1:
                parts = ", ".join(f"{ranks} at #{number}" for number, ranks in sorted(lane.unnamed.items()))
                message = f"ranks of {comm.described} have called different numbers of {name or 'collectives'}: {parts}"
                yield RULE.finding(Level.FAIL, comm.title, message, **evidence(comm))


RULE: FileRule[Standstill] = FileRule(card=RANK_BEHIND, check=_check)
