# SPDX-License-Identifier: Apache-2.0
"""railgauge graph lint: finds the errors of a graph file on the machine it is for."""

from dataclasses import replace
from typing import Annotated

import typer

from railgauge.cli.findings_output import FailOn, Quiet, Verbose, detail_of, leave_with, print_findings
from railgauge.cli.help.command import option
from railgauge.cli.help.page import MACHINE
from railgauge.cli.machine_options import (
    DeviceChoice,
    DeviceOption,
    From,
    Gpus,
    Ids,
    IdsOption,
    Json,
    MergeNics,
    NoP2p,
    Ranks,
    SaveCapture,
    Set,
    link_names,
    open_machine,
    open_system,
    settings_in_force,
)
from railgauge.cli.output import document, print_json
from railgauge.topo.findings.finding import Level


def lint(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A graph XML, as for NCCL_GRAPH_FILE.")],
    source: From = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    nodes: Annotated[
        int | None,
        option(MACHINE, "--nodes", metavar="N", min=1, help="The number of nodes (default: by the file's NICs)."),
    ] = None,
    ranks: Ranks = None,
    device: DeviceOption = DeviceChoice.AUTO,
    merged: MergeNics = False,
    no_p2p: NoP2p = False,
    settings: Set = None,
    ids: IdsOption = Ids.NAMES,
    as_json: Json = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Find the errors of a graph file, and the bandwidth that its channels would reach.

    Examples:
        railgauge graph lint graph.txt
        railgauge graph lint graph.txt --from @dgx-h100 --nodes 2
    """
    from railgauge.topo.findings.graph_file.graph_file import read
    from railgauge.topo.findings.graph_file.rules import lint as findings_of
    from railgauge.topo.nccl.graph.ends import named
    from railgauge.topo.nccl.graph.peer_status import denied_pairs
    from railgauge.topo.nccl.settings.steering import read_steering
    from railgauge.topo.render.findings import record

    detail = detail_of(verbose=verbose, quiet=quiet)
    machine = open_machine(source, gpus, merged=merged, save=save, graph=file)
    steering = read_steering(settings_in_force(machine, settings))
    system = open_system(machine, ranks, device)
    denied = denied_pairs(system, machine.reader)
    findings = findings_of(
        read(file, system, nodes=nodes, steering=steering, p2p=not no_p2p, denied=denied), machine.host
    )
    if as_json:
        print_json(document("findings", machine.host, findings=[record(finding) for finding in findings]))
    else:
        names = link_names(system, ids)
        told = (replace(one, message=named(one.message, names), effect=named(one.effect, names)) for one in findings)
        print_findings(list(told), detail=detail)
    leave_with(findings, fail_on)
