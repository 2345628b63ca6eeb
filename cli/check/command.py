# SPDX-License-Identifier: Apache-2.0
"""railgauge check: the problems of a machine that slow or break NCCL."""

from dataclasses import replace
from typing import Annotated

import typer

from railgauge.cli.expect_option import Expect
from railgauge.cli.findings_output import FailOn, Only, Quiet, Skip, Verbose, detail_of, leave_with
from railgauge.cli.help.command import app_of
from railgauge.cli.machine_options import (
    From,
    Gpus,
    Json,
    SaveCapture,
    TopoFile,
    gpu_list,
    name_of,
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
    dmesg: Annotated[
        str | None,
        typer.Option("--dmesg", metavar="FILE", help="Read the kernel's log (Xid, SXid) from a file; - is stdin."),
    ] = None,
    cost: Annotated[
        int,
        typer.Option(
            "-r", "--level", metavar="N", min=1, max=3, help="1 reads files, 2 also queries the machine; 3 is as 2."
        ),
    ] = 1,
    only: Only = None,
    skip: Skip = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="MACHINE", help="Compare with a machine, or with the .json of an earlier -o."
        ),
    ] = None,
    expect: Expect = None,
    profile: Annotated[
        str | None,
        typer.Option("--write-profile", metavar="FILE", help="Write this machine as a profile for --expect."),
    ] = None,
    output: Annotated[
        str | None,
        output_option("Write a report: .html, .json, or .prom for node_exporter."),
    ] = None,
    as_json: Json = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Find the problems of this machine, or of the one in --from, before a job hits them.

    Examples:
        railgauge check
        railgauge check --from @dgx-h100-nic-x8
        railgauge check --against yesterday.json -o today.html
    """
    from railgauge.cli.check.file import CheckAnswer, check_suffix, findings_document, write_findings
    from railgauge.topo.expect.expectations import given
    from railgauge.topo.findings.node.rule import ASKING
    from railgauge.topo.findings.node.rules import check as findings_of
    from railgauge.topo.findings.node.rules import chosen
    from railgauge.topo.render.check import check_lines

    detail = detail_of(verbose=verbose, quiet=quiet)
    if output is not None:
        if as_json:
            raise UsageError("-o selects the format by the suffix: leave --json out, or name a .json file")
        check_suffix(output)
    if cost > MOST_COST:
        print_warnings((f"-r {cost} is the same as -r {MOST_COST}: check moves no data; {MOVES_DATA}",))
    expected = given(expect or ())
    print_warnings(expected.warnings)
    rules = chosen(only or (), skip or (), cost)
    machine = open_machine(
        source, gpus, topo_file=topo_file, save=save, later=cost >= ASKING, tolerant=True, dmesg=dmesg
    )
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
        from railgauge.cli.check.write_profile import write_profile

        write_profile(profile, machine, findings)
    answer = CheckAnswer(machine, findings, compared)
    name = name_of(source)
    if output is not None:
        write_findings(output, answer, name)
    elif as_json:
        print_json(findings_document(answer))
    else:
        print_lines(check_lines(machine, findings, compared, name=name, detail=detail))
    leave_with(findings, fail_on, compared.counted(fail_on) if compared else None)


app = app_of(check)
