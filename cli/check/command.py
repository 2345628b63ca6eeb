# SPDX-License-Identifier: Apache-2.0
"""railgauge check: the problems of a machine that slow or break NCCL."""

import os
from typing import Annotated

import typer

from railgauge.cli.findings_output import FailOn, leave_if_failed, leave_with
from railgauge.cli.help.command import app_of
from railgauge.cli.machine_options import (
    From,
    Gpus,
    Json,
    SaveCapture,
    TopoFile,
    gpu_list,
    open_machine,
    print_warnings,
)
from railgauge.cli.machine_options import output as output_option
from railgauge.cli.output import print_json, print_lines
from railgauge.topo.errors import UsageError
from railgauge.topo.findings.finding import Level

MOST_COST = 2
"""The highest cost of a rule. Other commands move data."""
MOVES_DATA = "use railgauge link (between GPUs) or railgauge gdr check (between GPU and NIC)"


def check(
    source: From = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    topo_file: TopoFile = None,
    cost: Annotated[
        int,
        typer.Option(
            "-r", "--level", metavar="N", min=1, max=3, help="1 reads files, 2 also queries the machine; 3 is as 2."
        ),
    ] = 1,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help="Check this finding only; repeatable.")
    ] = None,
    skip: Annotated[
        list[str] | None, typer.Option("--skip", metavar="ID", help="Do not check this finding; repeatable.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="MACHINE", help="Compare with a machine, or with the .json of an earlier -o."
        ),
    ] = None,
    output: Annotated[
        str | None,
        output_option("Write a report: .html, .json, or .prom for node_exporter."),
    ] = None,
    as_json: Json = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Find the problems of this machine, or of the one in --from, before a job hits them.

    Examples:
        railgauge check
        railgauge check --from @dgx-h100-nic-x8
        railgauge check --against yesterday.json -o today.html
    """
    from railgauge.cli.check.file import CheckAnswer, check_suffix, findings_document, write_findings
    from railgauge.topo.findings.node.rule import ASKING
    from railgauge.topo.findings.node.rules import check as findings_of
    from railgauge.topo.findings.node.rules import chosen
    from railgauge.topo.render.check import check_lines

    if output is not None:
        if as_json:
            raise UsageError("-o selects the format by the suffix: leave --json out, or name a .json file")
        check_suffix(output)
    if cost > MOST_COST:
        print_warnings((f"-r {cost} is the same as -r {MOST_COST}: check moves no data; {MOVES_DATA}",))
    rules = chosen(only or (), skip or (), cost)
    machine = open_machine(source, gpus, topo_file=topo_file, save=save, later=cost >= ASKING, tolerant=True)
    baseline, compared = None, None
    if against is not None:
        from railgauge.cli.check.against import load_baseline
        from railgauge.topo.findings.node.since import compare

        baseline = load_baseline(against, gpu_list(gpus), rules, machine)
    findings = findings_of(machine, rules, baseline)
    if baseline is not None:
        compared = compare(findings, baseline, machine.host, {rule.id for rule in rules})
        findings = compared.findings
    answer = CheckAnswer(machine, findings, compared)
    if output is not None:
        write_findings(output, answer, os.path.basename(source or "this machine"))
    elif as_json:
        print_json(findings_document(answer))
    else:
        print_lines(check_lines(findings, compared))
    leave_if_failed(findings)
    leave_with(compared.counted(fail_on) if compared else findings, fail_on)


app = app_of(check)
