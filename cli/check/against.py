# SPDX-License-Identifier: Apache-2.0
"""`check --against`: loads the baseline."""

from collections.abc import Sequence

from railgauge.cli.machine_options import print_warnings, source_of
from railgauge.topo.findings.node import findings_file
from railgauge.topo.findings.node.baseline import Baseline
from railgauge.topo.findings.node.rule import ComparisonRule, Rule
from railgauge.topo.findings.node.rules import check
from railgauge.topo.machine import Machine, load_machine


def load_baseline(
    path: str, gpus: tuple[int, ...] | None, rules: Sequence[Rule | ComparisonRule], machine: Machine
) -> Baseline:
    """The findings of a saved document, or those of the same rules on the named machine.

    Warns on stderr of what could not be read, unless that holds for `machine` too.
    """
    if findings_file.is_findings_file(path):
        host, findings = findings_file.load(path)
        found = Baseline(name=path, host=host, findings=findings)
    else:
        before = load_machine(source_of(path), gpus=gpus, environment={})
        print_warnings(tuple(f"{path}: {text}" for text in before.warnings if text not in machine.warnings))
        found = Baseline(name=path, host=before.host, findings=check(before, rules), machine=before)
    if found.host and machine.host and found.host != machine.host:
        print_warnings((f"{path} is from host {found.host}, but this is {machine.host}",))
    return found
