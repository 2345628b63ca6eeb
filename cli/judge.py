# SPDX-License-Identifier: Apache-2.0
"""railgauge judge: whether measured bandwidths are good, beside what NCCL reaches on such a machine."""

import os
import shlex
import sys
from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.fabric.options import FabricFiles, open_fabric
from railgauge.cli.findings_output import FailOn, Quiet, Verbose, detail_of, leave_with, print_findings
from railgauge.cli.help.command import app_of, option
from railgauge.cli.help.page import MACHINE
from railgauge.cli.machine_options import (
    Gpus,
    Json,
    OtherMachine,
    SaveCapture,
    Set,
    one_machine,
    open_machine,
    output,
)
from railgauge.cli.output import document, print_json, print_lines, write_text
from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.findings.finding import Level

if TYPE_CHECKING:
    from railgauge.topo.jobs.judge.job_fabric import JobFabric
    from railgauge.topo.jobs.judge.judged_table import JudgedTable
    from railgauge.topo.jobs.tables.table import MeasuredTable

SVG = ".svg"
SYMMETRIC = 2  # of -R


def judge(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE",
            help="Output of nccl-tests, rccl-tests, nvbandwidth, perftest, OSU, mscclpp, PARAM or NCCL Inspector: "
            "files, a folder or - (stdin); NCCL's log may be around it.",
        ),
    ],
    source: OtherMachine = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    nodes: Annotated[
        int | None,
        option(MACHINE, "--nodes", metavar="N", min=1, help="The number of equal nodes (default: as the table says)."),
    ] = None,
    sets: Set = None,
    register: Annotated[
        int,
        option(
            MACHINE,
            "-R",
            "--local_register",
            metavar="0|1|2",
            min=0,
            max=2,
            help="2: the tables are of symmetric windows (nccl-tests -R 2), which their headings do not say.",
        ),
    ] = 0,
    fabric: FabricFiles = None,
    picture: Annotated[str | None, output("Draw the curves with forecast and bound: FILE.svg.")] = None,
    as_json: Json = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Judge measured tables: what was reached, the forecast and the bound of the machine, and what fits if it is low.

    Examples:
        railgauge judge all_reduce.txt --from @dgx-h100
        railgauge judge two-nodes.txt --from node1.tar.gz --nodes 2 -o judged.svg
        railgauge judge 16-nodes.txt --from node1.tar.gz --fabric fabric/
        srun all_reduce_perf -b 8 -e 8G -f 2 | railgauge judge - --from live
    """
    from railgauge.topo.jobs.judge.known import TableJudge
    from railgauge.topo.nccl.settings.algorithms import read_allowed
    from railgauge.topo.nccl.settings.steering import MEANING, parse_settings
    from railgauge.topo.render.findings import Detail
    from railgauge.topo.render.judge import judge_document, judge_lines

    detail = detail_of(verbose=verbose, quiet=quiet)
    if picture is not None and not picture.endswith(SVG):
        raise UsageError(f"-o {picture}: the picture is a file that ends in {SVG}")
    tables = _tables(files)
    machine = open_machine(one_machine(source), gpus, save=save) if source or save else None
    settings = parse_settings(sets or [], MEANING)
    read_allowed(settings)
    beside = TableJudge(
        machine,
        settings=settings,
        symmetric=register == SYMMETRIC,
        fabric=_job_fabric(fabric) if fabric else None,
    )
    judged = [beside.judge(table, nodes or 0) for table in tables]
    if picture is not None:
        _draw(picture, judged)
    findings = [finding for one in judged for finding in one.findings]
    if as_json:
        print_json(document("judge", machine.host if machine else "", **judge_document(judged)))
    else:
        if detail is not Detail.BRIEF:
            print_lines(line for one in judged for line in judge_lines(one))
        print_findings(findings, detail=detail)
    leave_with(findings, fail_on)


def _job_fabric(files: list[str]) -> "JobFabric":
    from railgauge.cli.fabric.known import known_fabric
    from railgauge.topo.findings.fabric.examined import ExaminedFabric
    from railgauge.topo.findings.fabric.rules import findings
    from railgauge.topo.jobs.judge.job_fabric import JobFabric

    fabric, _, _ = open_fabric(files, None)
    return JobFabric(
        over=cache(lambda nodes: known_fabric(fabric, nodes)),
        nodes=fabric.nodes,
        findings=findings(ExaminedFabric(fabric=fabric)),
    )


def _tables(files: list[str]) -> "list[MeasuredTable]":
    from railgauge.cli.log.job_files import logs
    from railgauge.topo.facts.named_files import named_files
    from railgauge.topo.jobs.tables.tables import read_tables

    names = named_files(files)
    tables = [table for content in logs(names, files) for table in read_tables(content)]
    if not tables:
        where = names[0] if len(names) == 1 else f"{len(names)} files"
        raise InputError("no table of nccl-tests or another program that `judge` knows (judge --help)", where)
    return tables


def _draw(path: str, judged: "list[JudgedTable]") -> None:
    from railgauge.collectives.report import svg
    from railgauge.collectives.report.judged import judged_chart

    command = shlex.join([os.path.basename(sys.argv[0]), *sys.argv[1:]])
    write_text(path, svg.dumps(judged_chart(judged, "Measured beside the forecast", command)))


app = app_of(judge)
