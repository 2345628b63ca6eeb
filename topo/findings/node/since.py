# SPDX-License-Identifier: Apache-2.0
"""Findings compared with those of an earlier check: new, worse, better, same, gone, or unknown if one could not look.

Findings are paired by id and subject. Whether the rule could look then counts as much as what it found: where it could
not, it is unknown whether a finding is new; where it cannot look now, it is unknown whether one is gone.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from railgauge.topo.findings.finding import LEVELS, ORDER, Finding, Level, Since
from railgauge.topo.findings.node import changed_since, slower_than_before
from railgauge.topo.findings.node.baseline import Baseline

COMPARING = (slower_than_before.RULE.id, changed_since.RULE.id)  # their findings are differences, so they are new
TOLD = (Level.INFO, Level.WARN, Level.FAIL)
Key = tuple[str, str]


class ComparedFindings(NamedTuple):
    """The present findings, each with `since`; those of the baseline that are gone or cannot be seen now."""

    baseline: Baseline
    findings: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    unseen: tuple[Finding, ...]

    def counted(self, fail_on: Level) -> tuple[Finding, ...]:
        """The findings that count for the exit status: new and worse ones; with UNKNOWN those that may be new, too."""
        counting = {Since.NEW, Since.WORSE} | ({Since.UNKNOWN} if fail_on is Level.UNKNOWN else set())
        return tuple(finding for finding in self.findings if finding.since in counting)


def compare(findings: Sequence[Finding], baseline: Baseline, host: str, rules: Collection[str]) -> ComparedFindings:
    """The findings of a machine `host` compared with a baseline; `rules` are the requested ids."""
    then = [one for one in baseline.findings if one.id in rules and one.id not in COMPARING]
    before = _worst(then, baseline.host)
    partial = baseline.machine is None  # then a rule without findings may not have existed
    now = tuple(replace(one, since=_since(one, _key(one, host), before, partial=partial)) for one in findings)
    keys = {_key(one, host) for one in now if one.level in TOLD}
    blind = {one.id for one in now if one.level is Level.UNKNOWN}
    missing = [one for one in then if one.level in TOLD and _key(one, baseline.host) not in keys]
    return ComparedFindings(
        baseline=baseline,
        findings=now,
        gone=tuple(one for one in missing if one.id not in blind),
        unseen=tuple(one for one in missing if one.id in blind),
    )


def _key(finding: Finding, host: str) -> Key:
    """The key that pairs findings, without names of hosts and files."""
    return finding.id, "" if finding.subject in (host, finding.path) else finding.subject


def _worst(findings: Iterable[Finding], host: str) -> Mapping[Key, Level]:
    found: dict[Key, Level] = {}
    for one in findings:
        key = _key(one, host)
        found[key] = max(one.level, found.get(key, one.level), key=LEVELS.index)
    return found


def _since(finding: Finding, key: Key, before: Mapping[Key, Level], *, partial: bool) -> Since:
    if finding.id in COMPARING:
        return Since.SAME if finding.level is Level.PASS else Since.NEW
    same_rule = {level for (name, _), level in before.items() if name == finding.id}
    if finding.level is Level.UNKNOWN:
        return Since.SAME if Level.UNKNOWN in same_rule else Since.NEW
    if not same_rule:
        return Since.UNKNOWN if partial else Since.SAME if finding.level is Level.PASS else Since.NEW
    if finding.level is Level.PASS:
        return _beside(Level.PASS, max(same_rule, key=LEVELS.index))
    if before.get(key, Level.PASS) is not Level.PASS:
        return _beside(finding.level, before[key])
    return Since.UNKNOWN if Level.UNKNOWN in same_rule else Since.NEW


def _beside(now: Level, then: Level) -> Since:
    if then is Level.UNKNOWN:
        return Since.UNKNOWN
    step = ORDER.index(now) - ORDER.index(then)
    return Since.WORSE if step > 0 else Since.BETTER if step < 0 else Since.SAME
