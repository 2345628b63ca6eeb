# SPDX-License-Identifier: Apache-2.0
"""railgauge nccl report: what NCCL did in a job, who was late, and what was slow."""

import os
import time
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.findings_output import FailOn, Quiet, Verbose, detail_of, leave_with, print_findings
from railgauge.cli.help.command import option
from railgauge.cli.help.page import MACHINE
from railgauge.cli.json_text import json_text
from railgauge.cli.machine_options import (
    MACHINE_HELP,
    PASTED_HELP,
    Json,
    SaveCapture,
    one_machine,
    open_machine,
    output,
)
from railgauge.cli.output import document, print_json, print_lines, terminal_width, write_text
from railgauge.cli.streams import tell
from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.findings.finding import Level

if TYPE_CHECKING:
    from railgauge.topo.jobs.recordings.machines import JobMachines
    from railgauge.topo.jobs.recordings.report import JobReport
    from railgauge.topo.render.findings import Detail

PERFETTO = ".perfetto.json"
SUFFIXES = (".html", ".prom", ".svg", PERFETTO, ".json")
FEWEST_S, MOST_S = 1.0, 86400.0
LONGEST_WAIT_S = 3600.0
"""How long --follow waits for the first recording."""


def report(
    files: Annotated[
        list[str],
        typer.Argument(metavar="DIR", help="Recordings of `nccl run` or `nccl env`: a folder, files or archives."),
    ],
    source: Annotated[
        list[str] | None,
        option(
            MACHINE,
            "--from",
            metavar="MACHINE",
            help=f"The machine of each host: {MACHINE_HELP}, {PASTED_HELP}; or a folder of `cluster dump -o`, "
            "which has each host's own.",
        ),
    ] = None,
    save: SaveCapture = None,
    written: Annotated[
        str | None, output(f"Write a report ({', '.join(SUFFIXES[:2])}, .json), or a timeline (.svg, {PERFETTO}).")
    ] = None,
    follow: Annotated[
        float | None,
        typer.Option("--follow", metavar="SECONDS", help="Report again every so many seconds while the job runs."),
    ] = None,
    as_json: Json = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Report what NCCL did in a recorded job: algorithms and bandwidth beside the forecast, late ranks, slow parts.

    Examples:
        railgauge nccl report rec/
        railgauge nccl report rec/ --from @dgx-h100 -o report.html
        railgauge nccl report rec/ --from captures/
        railgauge nccl report rec/ --follow 10
    """
    detail = detail_of(verbose=verbose, quiet=quiet)
    suffix = _suffix(written)
    if written and as_json:
        raise UsageError("-o selects the format by the suffix: leave --json out, or name a .json file")
    if follow is not None and not FEWEST_S <= follow <= MOST_S:
        raise UsageError(f"--follow {follow:g}: give {FEWEST_S:g} to {MOST_S:g} s")
    if follow is not None and (written or as_json):
        raise UsageError("--follow prints text: leave -o and --json out")
    if save is not None and source is None:
        raise UsageError("--save-capture requires --from, the machine to compare with")
    machines = _machines(source, save)
    found = _read(files, machines) if follow is None else _first(files, machines, follow)
    while follow is not None and found.runs:
        _print(found, detail)
        time.sleep(follow)
        print()
        found = _read(files, machines)
    if written:
        _write(written, suffix, found)
    elif as_json:
        from railgauge.topo.render.nccl_report import report_document

        print_json(document("nccl-report", "", **report_document(found)))
    else:
        _print(found, detail)
    leave_with(found.findings, fail_on)


def _suffix(path: str | None) -> str:
    """The suffix of the file to write; UsageError for an unknown one."""
    if path is None:
        return ""
    found = next((suffix for suffix in (PERFETTO, *SUFFIXES) if path.lower().endswith(suffix)), None)
    if found is None:
        raise UsageError(f"-o {path}: the suffix selects the format; use one of {', '.join(SUFFIXES)}")
    return found


def _machines(source: list[str] | None, save: str | None) -> "JobMachines":
    """What the hosts of the job are, by --from."""
    from railgauge.topo.findings.cluster.folder import is_cluster, node_files
    from railgauge.topo.jobs.recordings.machines import JobMachines

    if not source:
        return JobMachines()
    if len(source) == 1 and is_cluster(source[0]):
        if save is not None:
            raise UsageError(f"--save-capture saves one machine, and --from {source[0]} has several")
        return JobMachines(files=node_files(source[0]))
    return JobMachines(open_machine(one_machine(source), save=save))


def _read(files: list[str], machines: "JobMachines") -> "JobReport":
    from railgauge.topo.jobs.recordings.job import read_job
    from railgauge.topo.jobs.recordings.report import report as report_of

    job = read_job(files, lambda text: tell(f"railgauge: {text}"))
    return report_of(job, machines, time.time())


def _first(files: list[str], machines: "JobMachines", every: float) -> "JobReport":
    """What is recorded; of folders as soon as one holds a recording: a job makes its first when NCCL starts in it."""
    until = time.monotonic() + LONGEST_WAIT_S
    told = False
    while True:
        try:
            return _read(files, machines)
        except InputError as error:
            if not all(map(os.path.isdir, files)) or time.monotonic() >= until:
                raise
            if not told:
                tell(f"railgauge nccl: {error}: waiting for the first recording")
                told = True
        time.sleep(every)


def _print(found: "JobReport", detail: "Detail") -> None:
    from railgauge.topo.render.findings import Detail
    from railgauge.topo.render.nccl_report import report_lines

    if detail is not Detail.BRIEF:
        print_lines(report_lines(found, terminal_width()))
        print()
    if found.findings:
        print_findings(found.findings, detail=detail)
    else:
        print("no problem found")


def _write(path: str, suffix: str, found: "JobReport") -> None:
    if suffix == ".svg":
        from railgauge.topo.render.timeline import timeline

        pictures = [text for part in found.communicators if (text := timeline(part))]
        if not pictures:
            raise UsageError(f"-o {path}: a timeline needs the recordings of two ranks of a communicator")
        write_text(path, pictures[0])
    elif suffix == PERFETTO:
        from railgauge.topo.render.trace_events import trace_events

        write_text(path, json_text(trace_events(found.job)) + "\n")
    elif suffix == ".json":
        from railgauge.topo.render.nccl_report import report_document

        write_text(path, json_text(document("nccl-report", "", **report_document(found))) + "\n")
    else:
        from railgauge.topo.render.nccl_report_page import report_metrics, report_page

        made = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        write_text(path, report_metrics(found) if suffix == ".prom" else report_page(found, made))
