# SPDX-License-Identifier: Apache-2.0
"""railgauge topo lint: finds the errors of a topology file."""

import os
from typing import Annotated

import typer

from railgauge.cli.findings_output import FailOn, leave_with, print_findings
from railgauge.cli.machine_options import Json, OtherMachine, SaveCapture, open_machine, source_of
from railgauge.cli.output import document, print_json
from railgauge.topo.errors import UsageError
from railgauge.topo.facts.sources.nccl_topo_file import SETTING
from railgauge.topo.findings.finding import Level
from railgauge.topo.machine import Machine


def lint(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A topology XML, as for NCCL_TOPO_FILE.")],
    source: OtherMachine = None,
    save: SaveCapture = None,
    as_json: Json = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Find the errors of a topology file, by itself and against the machine it is for.

    Examples:
        railgauge topo lint topo.xml
        railgauge topo lint topo.xml --from live
    """
    from railgauge.topo.findings.topology_file.inspected_file import read
    from railgauge.topo.findings.topology_file.rules import lint as findings_of
    from railgauge.topo.render.findings import record

    machine = _machine(source, save)
    findings = findings_of(read(file, machine))
    if as_json:
        print_json(document("findings", machine.host if machine else "", findings=[record(f) for f in findings]))
    else:
        print_findings(findings)
    leave_with(findings, fail_on)


def _machine(source: str | None, save: str | None) -> Machine | None:
    """The machine to compare with, read without NCCL_TOPO_FILE, which may name the same file."""
    if source is None:
        if save is not None:
            raise UsageError("--save-capture requires --from, the machine to compare with")
        return None
    return open_machine(source_of(source), environment={**os.environ, SETTING: ""}, save=save)
