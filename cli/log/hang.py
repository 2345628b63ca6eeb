# SPDX-License-Identifier: Apache-2.0
"""railgauge log hang: the rank that a hung job waits for, and in which operation, from what the job left or reports."""

import time
from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlsplit

import typer

from railgauge.cli.findings_output import FailOn, leave_with, print_findings
from railgauge.cli.findings_status import FOUND
from railgauge.cli.machine_options import Json, print_warnings
from railgauge.cli.output import document, print_json
from railgauge.topo.errors import INTERNAL, UsageError
from railgauge.topo.findings.finding import Level

MOST = 12  # findings shown: many groups may wait for one rank, and the first ones suffice


def hang(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="PyTorch's flight records, stacks, ncclras's output, logs, a record of `run`: files, folders, tar, -.",
        ),
    ] = None,
    ras: Annotated[
        str | None,
        typer.Option("--ras", metavar="HOST[:PORT]", help="Query the RAS of a running job, at port 28028 by default."),
    ] = None,
    again_s: Annotated[
        float,
        typer.Option(
            "--again", metavar="SECONDS", min=0, max=3600, help="The time between two queries of --ras; 0 queries once."
        ),
    ] = 3.0,
    as_json: Json = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Name the ranks that hold a stuck job up, and the operations that wait for them.

    Examples:
        railgauge log hang nccl_trace_rank_*
        railgauge log hang --ras localhost
    """
    from railgauge.collectives.record import SCHEMA
    from railgauge.collectives.record_hang import read_record
    from railgauge.topo.jobs.hang.sources import Sources
    from railgauge.topo.jobs.hang.verdict import verdict
    from railgauge.topo.render.hang import hang_document, hang_text

    if not files and not ras:
        raise UsageError("no input: give what the job left (files, folders, archives), or --ras HOST")
    sources = Sources({SCHEMA: read_record})
    for path in files or ():
        sources.add(path)
    if ras:
        _ask(sources.add_report, ras, again_s)
    scene = sources.finish()
    judged = verdict(scene)
    if as_json:
        print_json(document("hang", "", **hang_document(scene, judged)))
    else:
        if judged.findings:
            print_findings(judged.findings, MOST)
        else:
            print(judged.text)
        if scene.communicators:
            print(f"\n{hang_text(scene)}")
    print_warnings(tuple(scene.notes))
    if sources.failures:
        raise typer.Exit(INTERNAL)
    leave_with(judged.findings, fail_on)
    if judged.is_stuck:
        raise typer.Exit(FOUND)


def _ask(add_report: Callable[[bytes, str], None], where: str, again_s: float) -> None:
    """Query RAS once, or twice `again_s` seconds apart: if its counts change, the job runs."""
    from railgauge.topo.jobs.hang.ras_client import PORT, ask

    try:
        parts = urlsplit(f"//{where}")
        host, port = parts.hostname or "localhost", parts.port or PORT
    except ValueError as error:
        raise UsageError(f"--ras {where}: {error}; expected HOST, HOST:PORT or [IPV6]:PORT") from None
    for pause_s in (0.0, again_s) if again_s else (0.0,):
        time.sleep(pause_s)
        add_report(ask(host, port), f"RAS of {where}")
