# SPDX-License-Identifier: Apache-2.0
"""railgauge topo lint: finds the errors of a topology file."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.findings_output import FailOn, Quiet, Verbose, detail_of, leave_with, print_findings
from railgauge.cli.machine_options import Json, OtherMachine, SaveCapture, one_machine, open_machine
from railgauge.cli.output import document, print_json, print_lines
from railgauge.topo.errors import UsageError
from railgauge.topo.facts.sources.nccl_topo_file import SETTING
from railgauge.topo.findings.finding import Level
from railgauge.topo.machine import Machine

if TYPE_CHECKING:
    from railgauge.topo.render.palette import Line


def lint(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A topology XML, as for NCCL_TOPO_FILE.")],
    source: OtherMachine = None,
    save: SaveCapture = None,
    as_json: Json = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
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
    from railgauge.topo.render.header import file_header
    from railgauge.topo.render.palette import Ink, line

    detail = detail_of(verbose=verbose, quiet=quiet)
    machine = _machine(source, save)
    given = read(file, machine)
    findings = findings_of(given)
    if as_json:
        print_json(document("findings", machine.host if machine else "", findings=[record(f) for f in findings]))
    else:
        if not quiet:
            print_lines((line(file_header(given.topology, file), Ink.HEADING), *_compared_with(machine), line("")))
        print_findings(findings, detail=detail)
    leave_with(findings, fail_on)


def _compared_with(machine: Machine | None) -> "Iterator[Line]":
    from railgauge.topo.render.header import machine_header
    from railgauge.topo.render.palette import line

    if machine is not None:
        yield line(f"compared with {machine_header(machine, 'the machine')}")


def _machine(source: list[str] | None, save: str | None) -> Machine | None:
    """The machine to compare with, read without NCCL_TOPO_FILE, which may name the same file."""
    if source is None:
        if save is not None:
            raise UsageError("--save-capture requires --from, the machine to compare with")
        return None
    return open_machine(one_machine(source), environment={**os.environ, SETTING: ""}, save=save)
