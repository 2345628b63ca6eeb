# SPDX-License-Identifier: Apache-2.0
"""`check --against`: loads the baseline and prints what changed since."""

from collections.abc import Sequence
from dataclasses import replace

from railgauge.cli.machine_options import print_warnings, source_of
from railgauge.cli.output import print_lines
from railgauge.topo.findings.finding import Finding, Level, Since
from railgauge.topo.findings.node import findings_file
from railgauge.topo.findings.node.baseline import Baseline
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.findings.node.rules import check
from railgauge.topo.findings.node.since import Compared
from railgauge.topo.machine import Machine, load_machine
from railgauge.topo.render.findings import LOUD, folded_lines, ids_of, summary

SINCE = {
    Since.NEW: "new since",
    Since.WORSE: "worse than in",
    Since.UNKNOWN: "not counted, because unknown in",
    Since.BETTER: "better than in",
}


def load_baseline(path: str, gpus: tuple[int, ...] | None, rules: Sequence[Rule], machine: Machine) -> Baseline:
    """The findings of a saved document, or those of the same rules on the named machine.

    Warns on stderr of what could not be read, unless that holds for `machine` too.
    """
    if findings_file.is_findings_file(path):
        host, findings = findings_file.load(path)
        found = Baseline(name=path, host=host, findings=findings)
    else:
        before = load_machine(source_of(path), gpus=gpus, environment={})
        print_warnings(tuple(f"{path}: {text}" for text in before.warnings if text not in machine.warnings))
        case = Case(before, gpus=gpus)
        found = Baseline(name=path, host=case.host, findings=check(case, rules), case=case)
    if found.host and machine.host and found.host != machine.host:
        print_warnings((f"{path} is from host {found.host}, but this is {machine.host}",))
    return found


def print_compared(compared: Compared) -> None:
    """Print what differs from the baseline, section by section, then what is unchanged in one line."""
    baseline = compared.baseline.name
    parts = {since: [one for one in compared.findings if one.since is since] for since in Since}
    for since, title in SINCE.items():
        worth = [one for one in parts[since] if one.level is not Level.PASS]
        _part(f"{title} {baseline}", worth)
    _part(f"gone since {baseline}", compared.gone, brief=True)
    _part(f"found in {baseline}, but cannot be checked now", compared.unseen, brief=True)
    same = parts[Since.SAME]
    named = [f"{level} {', '.join(ids)}" for level in LOUD if (ids := ids_of(same, level))]
    rest = [one for one in same if one.level not in LOUD]
    print(f"unchanged, not counted: {'; '.join([*named, summary(rest)])}")
    counts = {since: parts[since] for since in (Since.NEW, Since.WORSE)} | {"gone": compared.gone}
    print("; ".join(f"{what}: {summary(found) if found else 'none'}" for what, found in counts.items()))


def _part(title: str, findings: Sequence[Finding], *, brief: bool = False) -> None:
    """Print findings below a title; `brief` leaves effect and remedy out."""
    if findings:
        print(f"{title}:")
        print_lines(folded_lines([replace(one, effect="", remedy="") for one in findings] if brief else findings))
