# SPDX-License-Identifier: Apache-2.0
"""railgauge check: what is wrong with a machine that NCCL is to run on."""

import os
from typing import Annotated

import typer

from railgauge.cli.findings_output import FailOn, leave_if_failed, leave_with
from railgauge.cli.machine_options import (
    HELP_OPTIONS,
    From,
    Gpus,
    Json,
    SaveCapture,
    TopoFile,
    gpu_list,
    open_machine,
    print_warnings,
)
from railgauge.cli.output import print_json, print_lines
from railgauge.topo.errors import UsageError
from railgauge.topo.findings.finding import Level

MOST_COST = 2
"""Rules of a higher cost there are none: what moves data has commands of its own."""
MOVES_DATA = "railgauge link (between GPUs) and railgauge gdr check (between GPU and NIC) do"

app = typer.Typer(add_completion=False, context_settings=HELP_OPTIONS)


@app.command()
def check(
    source: From = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    topo_file: TopoFile = None,
    cost: Annotated[
        int, typer.Option("-r", min=1, max=3, help="1: read files; 2: ask the machine, too; 3: as 2, no data is moved.")
    ] = 1,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="ID", help="Only this rule; repeatable.")] = None,
    skip: Annotated[list[str] | None, typer.Option("--skip", metavar="ID", help="Not this rule; repeatable.")] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="BASELINE", help="What got worse since: a capture, @fixture, XML or -o's JSON."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", metavar="FILE", help="A report instead: .html, .json, or .prom for a node exporter."),
    ] = None,
    as_json: Json = False,
    fail_on: FailOn = Level.FAIL,
) -> None:
    """Find what is wrong with this machine, or the one that --from names, before a job does."""
    from railgauge.cli.check.file import Answer, check_suffix, findings_document, write_findings
    from railgauge.topo.findings.node.case import Case
    from railgauge.topo.findings.node.ib_errors_rising import TWO_READINGS
    from railgauge.topo.findings.node.rules import check as findings_of
    from railgauge.topo.findings.node.rules import chosen
    from railgauge.topo.render.check import check_lines

    if output is not None:
        if as_json:
            raise UsageError("-o writes the format of its suffix: leave --json out, or name a .json file")
        check_suffix(output)
    if cost > MOST_COST:
        print_warnings((f"-r {cost} does no more than -r {MOST_COST}: it moves no data; {MOVES_DATA}",))
    rules = chosen(only or (), skip or (), cost)
    machine = open_machine(source, gpus, topo_file=topo_file, save=save, later=cost >= TWO_READINGS, tolerant=True)
    baseline, compared = None, None
    if against is not None:
        from railgauge.cli.check.against import load_baseline
        from railgauge.topo.findings.node.since import compare

        baseline = load_baseline(against, gpu_list(gpus), rules, machine)
    case = Case(machine, cost=cost, topo_file=topo_file, gpus=gpu_list(gpus), baseline=baseline)
    findings = findings_of(case, rules)
    if baseline is not None:
        compared = compare(findings, baseline, case.host, {rule.id for rule in rules})
        findings = compared.findings
    answer = Answer(case, findings, compared)
    if output is not None:
        write_findings(output, answer, os.path.basename(source or "this machine"))
    elif as_json:
        print_json(findings_document(answer))
    else:
        print_lines(check_lines(findings, compared))
    leave_if_failed(findings)
    leave_with(compared.counted(fail_on) if compared else findings, fail_on)
