# SPDX-License-Identifier: Apache-2.0
"""railgauge check: the problems of a machine that slow or break NCCL."""

import os
from dataclasses import replace
from typing import Annotated

import typer

from railgauge.cli.expect_option import Expect
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
"""The highest cost of a rule. Other commands move data."""
MOVES_DATA = "use railgauge link (between GPUs) or railgauge gdr check (between GPU and NIC)"

app = typer.Typer(add_completion=False, context_settings=HELP_OPTIONS)


@app.command()
def check(
    source: From = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    topo_file: TopoFile = None,
    cost: Annotated[
        int, typer.Option("-r", min=1, max=3, help="1: read files; 2: also query the machine; 3: same as 2.")
    ] = 1,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="ID", help="Only this rule; repeatable.")] = None,
    skip: Annotated[list[str] | None, typer.Option("--skip", metavar="ID", help="Not this rule; repeatable.")] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="BASELINE", help="Compare with a baseline: capture, @fixture, XML or JSON of -o."
        ),
    ] = None,
    expect: Expect = None,
    profile: Annotated[
        str | None,
        typer.Option("--write-profile", metavar="FILE", help="Write this machine as a profile for --expect."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", metavar="FILE", help="Write a report: .html, .json, or .prom for node_exporter."),
    ] = None,
    as_json: Json = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Find the problems of this machine, or of the one in --from, before a job hits them."""
    from railgauge.cli.check.file import CheckAnswer, check_suffix, findings_document, write_findings
    from railgauge.cli.check.write_profile import write_profile
    from railgauge.topo.expect.expectations import given
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
    expected = given(expect or ())
    rules = chosen(only or (), skip or (), cost)
    machine = open_machine(source, gpus, topo_file=topo_file, save=save, later=cost >= ASKING, tolerant=True)
    machine = replace(machine, expected=expected)
    baseline, compared = None, None
    if against is not None:
        from railgauge.cli.check.against import load_baseline
        from railgauge.topo.findings.node.since import compare

        baseline = load_baseline(against, gpu_list(gpus), rules, machine)
    findings = findings_of(machine, rules, baseline)
    if baseline is not None:
        compared = compare(findings, baseline, machine.host, {rule.id for rule in rules})
        findings = compared.findings
    if profile is not None:
        write_profile(profile, machine, findings)
    answer = CheckAnswer(machine, findings, compared)
    if output is not None:
        write_findings(output, answer, os.path.basename(source or "this machine"))
    elif as_json:
        print_json(findings_document(answer))
    else:
        print_lines(check_lines(findings, compared))
    leave_if_failed(findings)
    leave_with(compared.counted(fail_on) if compared else findings, fail_on)
