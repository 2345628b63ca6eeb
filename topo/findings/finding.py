# SPDX-License-Identifier: Apache-2.0
"""Findings: what a check found, how serious it is, its effect and how to fix it.

A finding states only what its evidence shows. What could not be checked is UNKNOWN, never PASS.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """The level of a finding: PASS < INFO < WARN < FAIL; UNKNOWN is apart from them."""

    PASS = "PASS"
    INFO = "INFO"
    WARN = "WARN"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"


LEVELS = tuple(Level)
ORDER = (Level.PASS, Level.INFO, Level.WARN, Level.FAIL)


class Since(StrEnum):
    """A finding compared with that of an earlier check; UNKNOWN if that could not look."""

    NEW = "new"
    WORSE = "worse"
    SAME = "same"
    BETTER = "better"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding of the stable id `id` about `subject` (a bus id, a device's name) on `host` ("" when unnamed).

    `evidence` holds the values that were seen, units in their names; `effect` gives the quantity lost if
    it can be computed; `path` and `line` (1-based) are the place in a file; `since` is None without a baseline.
    `error`: of railgauge itself. With UNKNOWN it kept a rule from its answer, and the command ends with 70; with
    another level it kept the effect from being computed, and the finding stands.
    """

    id: str
    level: Level
    subject: str
    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    effect: str = ""
    remedy: str = ""
    host: str = ""
    path: str | None = None
    line: int | None = None
    since: Since | None = None
    error: str = ""


def kept_from_answer(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """UNKNOWN of the rules that an error of railgauge itself kept from an answer."""
    return tuple(one for one in findings if one.error and one.level is Level.UNKNOWN)


def may_hide(cause: Finding, one: Finding) -> bool:
    """Whether a finding may stand below its cause: a cause is as bad as all that follows from it, so that the worst
    level is seen.
    """
    return one.level in ORDER and cause.level in ORDER and ORDER.index(cause.level) >= ORDER.index(one.level)


def by_line(finding: Finding) -> tuple[bool, int, int, str]:
    """A sort key for findings about a file: by line, those without a line last, the worst of a line first."""
    return finding.line is None, finding.line or 0, -LEVELS.index(finding.level), finding.id


def at_or_above(findings: Iterable[Finding], level: Level) -> tuple[Finding, ...]:
    """The findings at `level` or worse. UNKNOWN counts only if `level` is UNKNOWN, together with WARN and FAIL."""
    counted = (Level.WARN, Level.FAIL, level) if level is Level.UNKNOWN else ORDER[ORDER.index(level) :]
    return tuple(finding for finding in findings if finding.level in counted)
