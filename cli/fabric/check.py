# SPDX-License-Identifier: Apache-2.0
"""railgauge fabric check: finds wrong cables, missing ports and uneven routes."""

from typing import Annotated

from railgauge.cli.fabric.options import FABRIC, Captures, Files, open_fabric
from railgauge.cli.findings_output import FailOn, Only, Quiet, Skip, Verbose, detail_of, leave_with, print_findings
from railgauge.cli.help.command import option
from railgauge.cli.machine_options import Json
from railgauge.cli.output import document, print_json
from railgauge.topo.findings.finding import Level


def check(
    files: Files,
    captures: Captures = None,
    against: Annotated[
        list[str] | None,
        option(FABRIC, "--against", metavar="FILE", help="An earlier or planned state, likewise; repeatable."),
    ] = None,
    only: Only = None,
    skip: Skip = None,
    as_json: Json = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Find wrong, missing and slow cables, nodes without a rail, and routes that load one cable.

    Examples:
        railgauge fabric check ibnetdiscover.txt ibqueryerrors.txt
        railgauge fabric check fabric/ --captures captures/ --against fabric-before/
    """
    from railgauge.topo.fabric.read import read_fabric
    from railgauge.topo.findings.detectors import selected
    from railgauge.topo.findings.fabric.examined import ExaminedFabric
    from railgauge.topo.findings.fabric.rules import RULES, findings
    from railgauge.topo.render.findings import record

    detail = detail_of(verbose=verbose, quiet=quiet)
    wanted = selected([rule.id for rule in RULES], only or (), skip or ())
    fabric, captured, count = open_fabric(files, captures)
    before = read_fabric(against) if against else None
    found = findings(ExaminedFabric(fabric=fabric, captured=captured, captures=count, against=before), wanted)
    if as_json:
        print_json(document("findings", "", findings=[record(one) for one in found]))
    else:
        print_findings(found, detail=detail)
    leave_with(found, fail_on)
