# SPDX-License-Identifier: Apache-2.0
"""How findings change from one check of a node to the next: what is new, what is gone, what comes and goes.

It keeps the last level of each finding and when it changed lately, of at most MOST findings: its memory does not grow.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from railgauge.topo.findings.finding import ORDER, Finding, Level

MOST = 4096
"""Findings whose changes are remembered; the one that changed least lately is forgotten first."""
FLAPS = 4
"""Changes within WITHIN_S from which a finding comes and goes: two whole cycles."""
WITHIN_S = 600.0
MOST_FLAPS = 64
"""Changes that are counted of one finding."""
LOUD = (Level.INFO, Level.WARN, Level.FAIL)


class Transition(StrEnum):
    """How a finding differs from that of the check before."""

    NEW = "new"
    WORSE = "worse"
    BETTER = "better"
    GONE = "gone"
    UNKNOWN = "unknown"


class FindingEvent(NamedTuple):
    """One change of a finding. finding: as it is now; a finding that is gone as it was. flaps: its changes within
    WITHIN_S, 0 below FLAPS, no more than MOST_FLAPS.
    """

    transition: Transition
    finding: Finding
    flaps: int = 0


@dataclass(slots=True)
class FindingHistory:
    """The findings of the last check, and when they changed."""

    last: dict[tuple[str, str], Finding] = field(default_factory=dict)
    unknown: set[tuple[str, str]] = field(default_factory=set)
    """What could not be checked the last time."""
    changed: OrderedDict[tuple[str, str], deque[float]] = field(default_factory=OrderedDict)
    total: int = 0
    """Changes so far."""

    def events(self, findings: Sequence[Finding], now_s: float) -> tuple[FindingEvent, ...]:
        """The changes since the last check, worst first; all findings are new in the first one."""
        now: dict[tuple[str, str], Finding] = {}
        for one in findings:
            if one.level in LOUD:
                now.setdefault(_key(one), one)
        unknown = {_key(one) for one in findings if one.level is Level.UNKNOWN}
        blind, newly = ({identifier for identifier, _ in keys} for keys in (unknown, unknown - self.unknown))
        changes = tuple(self._changes(now, blind, newly))
        found = tuple(self._flapping(event, now_s) for event in changes)
        kept = {
            key: replace(one, level=Level.UNKNOWN)
            for key, one in self.last.items()
            if one.id in newly or (one.id in blind and one.level is Level.UNKNOWN)
        }
        self.last = dict(list(kept.items())[-MOST:]) | now
        self.unknown = unknown
        return tuple(sorted(found, key=lambda event: -_rank(event.finding.level)))

    def _changes(self, now: dict[tuple[str, str], Finding], blind: set[str], newly: set[str]) -> Iterator[FindingEvent]:
        """blind: the ids of what cannot be checked of some device; newly: of one that could be checked before."""
        for key, one in now.items():
            before = self.last.get(key)
            if before is None:
                yield FindingEvent(Transition.NEW, one)
            elif before.level is not one.level and before.level is not Level.UNKNOWN:
                yield FindingEvent(
                    Transition.WORSE if _rank(one.level) > _rank(before.level) else Transition.BETTER, one
                )
        for key, before in self.last.items():
            was_known = before.level is not Level.UNKNOWN
            if key not in now and (before.id not in blind or (was_known and before.id not in newly)):
                yield FindingEvent(Transition.GONE, before)
            elif key not in now and was_known:
                yield FindingEvent(Transition.UNKNOWN, before)

    def _flapping(self, event: FindingEvent, now_s: float) -> FindingEvent:
        """The event with the number of changes lately."""
        self.total += 1
        key = _key(event.finding)
        times = self.changed.setdefault(key, deque(maxlen=MOST_FLAPS))
        self.changed.move_to_end(key)
        times.append(now_s)
        if len(self.changed) > MOST:
            self.changed.popitem(last=False)
        lately = sum(now_s - one <= WITHIN_S for one in times)
        return event._replace(flaps=lately if lately >= FLAPS else 0)


def _key(finding: Finding) -> tuple[str, str]:
    return finding.id, finding.subject


def _rank(level: Level) -> int:
    return ORDER.index(level) if level in ORDER else -1
