# SPDX-License-Identifier: Apache-2.0
"""The answer of `check`: its findings (railgauge/findings/1), and the changes since a baseline."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from railgauge.topo.findings.finding import Finding, Level, Since
from railgauge.topo.machine import Machine
from railgauge.topo.render.findings import LOUD, Detail, folded_lines, ids_of, record, summary
from railgauge.topo.render.header import machine_lines
from railgauge.topo.render.palette import Line, line

if TYPE_CHECKING:
    from railgauge.topo.findings.node.since import ComparedFindings

SINCE = {
    Since.NEW: "new since",
    Since.WORSE: "worse than in",
    Since.UNKNOWN: "not counted, because unknown in",
    Since.BETTER: "better than in",
}


def check_document(findings: Sequence[Finding], compared: "ComparedFindings | None" = None) -> dict[str, Any]:
    """The document but for its head; with a baseline also what it was, and what is gone or cannot be seen any more."""
    content: dict[str, Any] = {"findings": [record(finding) for finding in findings]}
    if compared:
        content["baseline"] = {"source": compared.baseline.name, "host": compared.baseline.host}
        content["gone"] = [record(finding) for finding in compared.gone]
        content["unseen"] = [record(finding) for finding in compared.unseen]
    return content


def check_lines(
    machine: Machine,
    findings: Sequence[Finding],
    compared: "ComparedFindings | None" = None,
    *,
    name: str,
    detail: Detail = Detail.USUAL,
) -> Iterator[Line]:
    """A header, the findings and a line that counts them; with a baseline by what has changed, then what is unchanged.

    name: of a machine without a host name.
    """
    if detail is not Detail.BRIEF:
        yield from machine_lines(machine, name)
    if compared is not None:
        yield from _compared_lines(compared, detail)
        return
    yield from folded_lines(findings, detail)
    if detail is not Detail.BRIEF:
        yield line(summary(findings))


def _compared_lines(compared: "ComparedFindings", detail: Detail) -> Iterator[Line]:
    baseline = compared.baseline.name
    parts = {since: [one for one in compared.findings if one.since is since] for since in Since}
    for since, title in SINCE.items():
        found = [one for one in parts[since] if one.level is not Level.PASS]
        yield from _part(f"{title} {baseline}", found, detail)
    yield from _part(f"gone since {baseline}", _brief(compared.gone), detail)
    yield from _part(f"found in {baseline}, but cannot be checked now", _brief(compared.unseen), detail)
    same = parts[Since.SAME]
    named = [f"{level} {', '.join(ids)}" for level in LOUD if (ids := ids_of(same, level))]
    rest = [one for one in same if one.level not in LOUD]
    yield line(f"unchanged, not counted: {'; '.join([*named, summary(rest)])}")
    counts = {since: parts[since] for since in (Since.NEW, Since.WORSE)} | {"gone": compared.gone}
    yield line("; ".join(f"{what}: {summary(found) if found else 'none'}" for what, found in counts.items()))


def _part(title: str, findings: Sequence[Finding], detail: Detail) -> Iterator[Line]:
    """Findings below a title."""
    if findings:
        yield line(f"{title}:")
        yield from folded_lines(findings, detail)


def _brief(findings: Sequence[Finding]) -> list[Finding]:
    """Findings without effect and remedy."""
    return [replace(one, effect="", remedy="") for one in findings]
