# SPDX-License-Identifier: Apache-2.0
"""Ranks that have not called the operation that others are in."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import RANK_BEHIND
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.model import named
from railgauge.topo.jobs.hang.rules.words import are_missing, evidence, evidence_of, wait
from railgauge.topo.jobs.hang.standstill import Hold, Standstill

FEW = 4  # ranks that wait elsewhere and are named one by one
CIRCLE = "the ranks wait for each other in a circle: communicators are used in different orders"


def _check(standstill: Standstill) -> Iterator[Finding]:
    """Those that are held up elsewhere themselves come last."""
    holds = [
        hold for hold in standstill.holds if hold.behind and hold.waiting and id(hold.lane) not in standstill.apart
    ]
    causes = [hold for hold in holds if len(standstill.elsewhere(hold)) < len(hold.behind)]
    for hold in causes or holds:
        yield _finding(hold, standstill.elsewhere(hold), Level.FAIL, "" if causes else CIRCLE)
    for hold in holds if causes else ():
        if hold not in causes:
            yield _finding(hold, standstill.elsewhere(hold), Level.WARN, "")
    yield from _unnamed(standstill)


def _finding(hold: Hold, elsewhere: dict[int, Hold], level: Level, effect: str) -> Finding:
    parts = [are_missing(hold, hold.behind), wait(hold)]
    parts += [f"rank {rank} waits in {one.operation} of {one.comm.title}" for rank, one in elsewhere.items()][:FEW]
    parts += [] if elsewhere or hold.lane.peers else _last(hold)
    parts += [f"no data from {named(hold.silent)}"] if hold.silent else []
    return RULE.finding(level, hold.comm.title, "; ".join(parts), effect=effect, **evidence_of(hold, hold.behind))


def _last(hold: Hold) -> list[str]:
    """The last call of those that are behind, if it is the same."""
    tracks = [hold.lane.tracks[rank] for rank in hold.behind]
    calls = {(track.entered, track.calls.get(track.entered)) for track in tracks}
    if len({number for number, _ in calls}) > 1:
        return []
    number, call = calls.pop()
    who = "it" if len(tracks) == 1 else "they"
    if number < 0 or (number == 0 and call is None):
        return [f"{who} had called no operation before"]
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
