# SPDX-License-Identifier: Apache-2.0
"""railgauge check: what is wrong with a machine that NCCL is to run on."""

from typing import Annotated

import typer

from railgauge.cli.findings_output import FailOn, leave_with, print_findings
from railgauge.cli.machine_options import HELP_OPTIONS, From, Gpus, Json, TopoFile, open_machine
from railgauge.cli.output import document, print_json
from railgauge.topo.findings import Level

app = typer.Typer(add_completion=False, context_settings=HELP_OPTIONS)


@app.command()
def check(
    source: From = None,
    gpus: Gpus = None,
    topo_file: TopoFile = None,
    cost: Annotated[
        int, typer.Option("-r", min=1, max=3, help="1: read files; 2: ask the machine, too; 3: move data.")
    ] = 1,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="ID", help="Only this rule; repeatable.")] = None,
    skip: Annotated[list[str] | None, typer.Option("--skip", metavar="ID", help="Not this rule; repeatable.")] = None,
    as_json: Json = False,
    fail_on: FailOn = Level.FAIL,
) -> None:
    """Find what is wrong with this machine, or the one that --from names, before a job does."""
    from railgauge.topo.rules.case import Case
    from railgauge.topo.rules.rules import check as findings_of
    from railgauge.topo.rules.rules import chosen

    rules = chosen(only or (), skip or (), cost)
    machine = open_machine(source, gpus, topo_file=topo_file)
    findings = findings_of(Case(machine, live=source is None, cost=cost), rules)
    if as_json:
        print_json(document("findings", machine.host, findings=[f.record() for f in findings]))
    else:
        print_findings(findings)
    leave_with(findings, fail_on)
