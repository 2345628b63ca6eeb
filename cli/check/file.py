# SPDX-License-Identifier: Apache-2.0
"""`check -o FILE`: the findings in the format of the file's suffix."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railgauge.cli.json_text import json_text
from railgauge.cli.output import document, write_text
from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.findings.finding import Finding
from railgauge.topo.machine import Machine
from railgauge.topo.render.check import check_document

if TYPE_CHECKING:
    from railgauge.topo.findings.node.since import ComparedFindings

SUFFIXES = (".html", ".json", ".prom")


def check_suffix(path: str) -> str:
    """The suffix of a file; UsageError if it is no known format."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"-o {path}: the suffix selects the format; use one of {', '.join(SUFFIXES)}")
    return suffix


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    """The findings of a machine, worst first, and their comparison with a baseline."""

    machine: Machine
    findings: Sequence[Finding]
    compared: "ComparedFindings | None" = None

    @property
    def gone(self) -> Sequence[Finding]:
        """Findings of the baseline that this machine does not have."""
        return self.compared.gone if self.compared else ()


def findings_document(answer: CheckAnswer) -> dict[str, Any]:
    """The document railgauge/findings/1."""
    return document("findings", answer.machine.host, **check_document(answer.findings, answer.compared))


def write_findings(path: str, answer: CheckAnswer, name: str) -> None:
    """Write the findings; `name` stands for a machine without a host name."""
    suffix, machine = check_suffix(path), answer.machine
    if suffix == ".json":
        write_text(path, json_text(findings_document(answer)) + "\n")
    elif suffix == ".prom":
        from railgauge.topo.render.findings_metrics import dumps

        write_text(path, dumps(answer.findings, machine.host, round(time.time(), 3)))
    else:
        write_text(path, _page(answer, machine.host or name))


def _page(answer: CheckAnswer, name: str) -> str:
    from railgauge.topo.render.header import machine_header
    from railgauge.topo.render.matrix import matrix
    from railgauge.topo.render.picture import page
    from railgauge.topo.render.picture.from_system import picture

    machine = answer.machine
    topology, facts = machine.topology, machine.facts
    about = (machine_header(machine, name), time.strftime("checked %Y-%m-%d %H:%M:%S UTC", time.gmtime()))
    try:
        drawn = picture(machine.system, topology, facts, name=name)
    except InputError:  # the file contradicts itself; a finding reports it
        return page.without_picture(name, answer.findings, answer.gone, about)
    shown = matrix(machine.system, topology, facts)
    return page.dumps(drawn, shown, machine.warnings, answer.findings, answer.gone, about)
