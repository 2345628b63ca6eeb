# SPDX-License-Identifier: Apache-2.0
"""Findings as every command shows them: lines for people and records for JSON. Pages (findings_html.py) and metrics
(findings_metrics.py) are made of the same order.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from railgauge.topo.findings.finding import ORDER, Finding, Level
from railgauge.topo.findings.node.consequences import FOLLOWS_FROM, is_cause
from railgauge.topo.render.palette import LEVEL_INKS, Ink, Line, line
from railgauge.topo.values.node_names import folded
from railgauge.topo.values.printable import inline

SHOWN = (*reversed(ORDER), Level.UNKNOWN)
"""The levels as a summary counts them."""
LOUD = (Level.FAIL, Level.WARN, Level.INFO)
"""What is shown finding by finding where others are counted."""
BAD = (Level.FAIL, Level.WARN)
"""What makes a machine one with findings."""
FEW = 3
"""Ids that passed, or that could not be checked, which are named; more are counted."""
MOST_ALSO = 64
"""Further devices of one cause that are named."""
DEVICE = re.compile(
    r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]|\b(?!x\d+\b|Gen\d|IPv\d|v\d+\b)[A-Za-z][A-Za-z_-]*\d[\w.:-]*"
)
"""A device's name within a message: a bus id, GPU3, mlx5_0:1, enp41s0f0np0."""
WHEN = re.compile(r"\b\d+ s after boot")
"""When it happened, which differs from node to node."""
REASONS: Mapping[str, re.Pattern[str]] = {
    "needs root": re.compile(r"\broot\b"),
    "not captured": re.compile(r"\bnot (?:captured|recorded|called|read)\b|not in a topology file"),
}
"""Why a check was not possible, by the words of its finding."""
OTHER_REASON = "for another reason"
PLURALS = {"needs root": "need root", OTHER_REASON: "for other reasons"}


class Detail(Enum):
    """How much is shown: what is bad, a line each; each cause once and the rest counted; or everything by itself."""

    BRIEF = "brief"
    USUAL = "usual"
    FULL = "full"


def record(finding: Finding) -> dict[str, Any]:
    """A finding in a JSON document; path and line only for a file, since only with a baseline."""
    place = {"path": finding.path, "line": finding.line} if finding.path is not None else {}
    since = {"since": str(finding.since)} if finding.since is not None else {}
    return {
        "id": finding.id,
        "level": str(finding.level),
        **since,
        "host": finding.host,
        "subject": finding.subject,
        **place,
        "evidence": dict(finding.evidence),
        "message": finding.message,
        "effect": finding.effect,
        "remedy": finding.remedy,
    }


def folded_lines(findings: Iterable[Finding], detail: Detail = Detail.USUAL) -> Iterator[Line]:
    """The worst first, a cause once, then what was not possible and what passed."""
    findings = list(findings)
    seen: set[tuple[str, str]] = set()
    below = consequences(findings) if detail is not Detail.FULL else {}
    moved = {id(one) for its in below.values() for one in its}
    for alike in cause_groups([one for one in findings if id(one) not in moved], detail):
        yield from cause_lines(alike, seen, detail=detail)
        if detail is Detail.USUAL:
            yield from map(follows_line, (one for each in alike for one in below.get(id(each), ())))
    if detail is not Detail.BRIEF:
        yield from unknown_lines(findings, detail)
        yield from passed_lines(findings, detail)


def consequences(findings: Sequence[Finding]) -> dict[int, list[Finding]]:
    """What stands below each finding, by its identity: the findings that name it as their cause; of several that have
    the cause's id and subject, the worst has them.
    """
    loud = [one for one in findings if one.level in LOUD]
    worst_first = sorted(loud, key=lambda one: LOUD.index(one.level))
    found: dict[int, list[Finding]] = {}
    for one in (one for one in loud if FOLLOWS_FROM in one.evidence):
        cause = next((other for other in worst_first if other is not one and is_cause(other, one)), None)
        if cause is not None:
            found.setdefault(id(cause), []).append(one)
    return found


def finding_lines(
    findings: Sequence[Finding], most: int | None = None, detail: Detail = Detail.USUAL
) -> Iterator[Line]:
    """The findings, no more than `most`, and a line that counts them."""
    yield from folded_lines(findings[:most], detail)
    if most is not None and len(findings) > most:
        yield line(f"... and {len(findings) - most} more (--json has all)")
    yield line(summary(findings))


def cause_groups(findings: Iterable[Finding], detail: Detail = Detail.USUAL) -> list[list[Finding]]:
    """Findings of one id that differ by devices alone, together; the worst first. FULL: each by itself."""
    levels = BAD if detail is Detail.BRIEF else LOUD
    found: dict[object, list[Finding]] = {}
    for number, one in enumerate(findings):
        if one.level in levels:
            key = number if detail is Detail.FULL else (one.level, one.id, _masked(one.message, one.subject))
            found.setdefault(key, []).append(one)
    return sorted(found.values(), key=lambda alike: LOUD.index(alike[0].level))


def cause_lines(
    alike: Sequence[Finding],
    seen: set[tuple[str, str]],
    *,
    names_hosts: bool = False,
    detail: Detail = Detail.USUAL,
) -> Iterator[Line]:
    """One cause: its first finding, the further devices, and below what follows and how to fix it.

    seen: id and text of effects and remedies that were shown, which are not shown again.
    """
    first, *others = alike
    yield headed(first, names_hosts=names_hosts)
    if detail is Detail.BRIEF:
        return
    if others:
        yield _titled("also", also(others, names_hosts=names_hosts))
    for effect in dict.fromkeys(one.effect for one in alike):
        if effect and (first.id, _masked(effect)) not in seen:
            yield _titled("effect", effect)
        seen.add((first.id, _masked(effect)))
    if first.remedy and (first.id, first.remedy) not in seen:
        yield _titled("remedy", first.remedy)
    seen.add((first.id, first.remedy))


def follows_line(one: Finding, *, names_hosts: bool = False) -> Line:
    """A finding below its cause, which its words then need not name."""
    return (("    follows: ", Ink.QUIET), *headed(_with_own_words(one), names_hosts=names_hosts))


def follows_text(one: Finding, *, names_hosts: bool = False) -> str:
    """The same as text for a page."""
    return "".join(text for text, _ in headed(_with_own_words(one), names_hosts=names_hosts))


def _with_own_words(one: Finding) -> Finding:
    """A finding without the name of its cause."""
    words = one.message.removesuffix(" (follows from {}: {})".format(*one.evidence.get(FOLLOWS_FROM, ("", ""))))
    return replace(one, message=words)


def headed(one: Finding, *, names_hosts: bool = False) -> Line:
    """The line of a finding: level, id, device and what is there."""
    place = f"{one.path}:{one.line}: " if one.line else f"{one.path}: " if one.path else ""
    who = _who(one, names_hosts=names_hosts)
    is_named = one.subject in one.message or one.subject == one.path or (names_hosts and one.subject == one.host)
    about = "" if is_named else f"{one.subject}: "
    return _level_line(place, one.level, f"{one.id}: {who}{about}{one.message}")


def summary(findings: Iterable[Finding]) -> str:
    """How many findings there are of each level, the worst first."""
    counts = Counter(finding.level for finding in findings)
    parts = [f"{counts[level]} {level}" for level in SHOWN if counts[level]]
    return ", ".join(parts) or "no findings"


def ids_of(findings: Iterable[Finding], level: Level) -> list[str]:
    """The ids that have findings of a level."""
    return list(dict.fromkeys(one.id for one in findings if one.level is level))


def reason_of(finding: Finding) -> str:
    """Why a check was not possible, as it is counted."""
    if finding.error:
        return OTHER_REASON
    return next((name for name, words in REASONS.items() if words.search(finding.message)), OTHER_REASON)


def _masked(text: str, subject: str = "") -> str:
    """A text without the names of devices and the times in it."""
    return DEVICE.sub("*", WHEN.sub("*", text.replace(subject, "*") if subject else text))


def also(others: Sequence[Finding], *, names_hosts: bool = False) -> str:
    """The further devices; those of several nodes by node, with all nodes that have the same ones together."""
    by_host: dict[str, list[str]] = {}
    for one in others:
        device = f"{one.path}:{one.line}" if one.line else one.subject or one.message
        by_host.setdefault(one.host if names_hosts else "", []).append(device)
    hosts: dict[tuple[str, ...], list[str]] = {}
    for host, devices in by_host.items():
        hosts.setdefault(tuple(devices), []).append(host)
    return "; ".join(
        f"{where}: {_devices(devices)}" if where else _devices(devices)
        for devices, names in hosts.items()
        for where in _together(names)
    )


def _together(hosts: Sequence[str]) -> list[str]:
    """Single nodes folded into one text; sets of nodes each by itself."""
    single = [one for one in hosts if one and " " not in one]
    return [*([folded(single)] if single else []), *(one for one in hosts if one not in single)]


def _devices(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_ALSO} more (-v)" if len(names) > MOST_ALSO else ""
    return ", ".join(names[:MOST_ALSO]) + more


def unknown_lines(findings: Sequence[Finding], detail: Detail, *, names_hosts: bool = False) -> Iterator[Line]:
    """What could not be checked: by reason, or counted by its kind; an error of railgauge always by itself."""
    unknown = [one for one in findings if one.level is Level.UNKNOWN]
    is_named = detail is Detail.FULL or len(ids_of(unknown, Level.UNKNOWN)) <= FEW
    by_reason: dict[tuple[str, str, str], list[str]] = {}
    for one in unknown:
        if is_named or one.error:
            key = (_who(one, names_hosts=names_hosts), one.message, one.remedy)
            by_reason.setdefault(key, []).append(one.id)
    for (who, reason, remedy), ids in by_reason.items():
        yield _level_line("", Level.UNKNOWN, f"{who}{', '.join(dict.fromkeys(ids))}: {reason}")
        if remedy:
            yield _titled("remedy", remedy)
    if not is_named:
        reasons = Counter({one.id: reason_of(one) for one in reversed(unknown)}.values())
        order = ("not captured", "needs root", OTHER_REASON)
        parts = [f"{reasons[name]} {_counted(name, reasons[name])}" for name in order if reasons[name]]
        yield line(f"{reasons.total()} checks not possible: {', '.join(parts)} (-v)", Ink.UNKNOWN)


def passed_lines(findings: Sequence[Finding], detail: Detail, *, names_hosts: bool = False) -> Iterator[Line]:
    """What passed: by name, or counted; nothing of an id that was found somewhere."""
    found = {one.id for one in findings if one.level in LOUD}
    passed = [one for one in findings if one.level is Level.PASS and one.id not in found]
    ids = ids_of(passed, Level.PASS)
    if detail is not Detail.FULL and len(ids) > FEW:
        yield line(f"{len(ids)} passed (-v)", Ink.GOOD)
        return
    by_host: dict[str, list[str]] = {}
    for one in passed:
        by_host.setdefault(_who(one, names_hosts=names_hosts), []).append(one.id)
    for who, names in by_host.items():
        yield _level_line("", Level.PASS, f"{who}{', '.join(dict.fromkeys(names))}")


def _who(one: Finding, *, names_hosts: bool) -> str:
    return f"{one.host}: " if names_hosts and one.host else ""


def _counted(name: str, count: int) -> str:
    return PLURALS.get(name, name) if count > 1 else name


def _titled(title: str, text: str) -> Line:
    return ((f"    {title}: ", Ink.QUIET), (inline(text), Ink.PLAIN))


def _level_line(place: str, level: Level, text: str) -> Line:
    return ((inline(place), Ink.PLAIN), (str(level), LEVEL_INKS[level]), (f" {inline(text)}", Ink.PLAIN))
