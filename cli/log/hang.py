# SPDX-License-Identifier: Apache-2.0
"""railgauge log hang: which rank a stuck job waits for, and in what, from whatever it left or says."""

import time
from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlsplit

import typer

from railgauge.cli.findings_output import FailOn, leave_with, print_findings
from railgauge.cli.machine_options import Json, print_warnings
from railgauge.cli.output import document, print_json
from railgauge.topo.errors import UsageError
from railgauge.topo.findings.finding import Level

MOST = 12  # findings that are shown: of many groups that wait for one rank the first tell enough


def hang(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Flight records of PyTorch, output of ncclras, NCCL logs, a record of `run`: files, folders, tar."
        ),
    ] = None,
    ras: Annotated[
        str | None, typer.Option("--ras", metavar="HOST[:PORT]", help="Ask the RAS of a job that runs (port 28028).")
    ] = None,
    again_s: Annotated[
        float,
        typer.Option(
            "--again", metavar="SECONDS", min=0, max=3600, help="With --ras: look twice, so long apart; 0: once."
        ),
    ] = 3.0,
    as_json: Json = False,
    fail_on: FailOn = Level.FAIL,
) -> None:
    """Say which ranks are missing in which operation, and who waits for them."""
    from railgauge.collectives.record import SCHEMA
    from railgauge.collectives.record_hang import read_record
    from railgauge.topo.jobs.hang.sources import Sources
    from railgauge.topo.jobs.hang.verdict import verdict
    from railgauge.topo.render import hang as answer

    if not files and not ras:
        raise UsageError("nothing to look at: give what the job left (files, folders, archives), or --ras HOST")
    sources = Sources({SCHEMA: read_record})
    for path in files or ():
        sources.add(path)
    if ras:
        _ask(sources.add_report, ras, again_s)
    scene = sources.finish()
    judged = verdict(scene)
    if as_json:
        print_json(document("hang", "", **answer.document(scene, judged)))
    else:
        if judged.findings:
            print_findings(judged.findings, MOST)
        else:
            print(judged.text)
        if scene.communicators:
            print(f"\n{answer.text(scene)}")
    print_warnings(tuple(scene.notes))
    leave_with(judged.findings, fail_on)


def _ask(add_report: Callable[[bytes, str], None], where: str, again_s: float) -> None:
    """Add what RAS says, and says again after a while: counts that move are those of a job that runs."""
    from railgauge.topo.jobs.hang.ras_client import PORT, ask

    try:
        parts = urlsplit(f"//{where}")
        host, port = parts.hostname or "localhost", parts.port or PORT
    except ValueError as error:
        raise UsageError(f"--ras {where}: {error}; HOST, HOST:PORT or [IPV6]:PORT is meant") from None
    for pause_s in (0.0, again_s) if again_s else (0.0,):
        time.sleep(pause_s)
        add_report(ask(host, port), f"RAS of {where}")
