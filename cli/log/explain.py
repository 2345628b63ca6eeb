# SPDX-License-Identifier: Apache-2.0
"""railgauge log explain: explains NCCL's log, or a flight record of `run --record`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.findings_output import FailOn, Quiet, Verbose, detail_of, leave_with, print_findings
from railgauge.cli.log.job_files import RECORD, begin, is_recording_file, logs, logs_in
from railgauge.cli.machine_options import Json, OtherMachine, SaveCapture, one_machine, open_machine
from railgauge.cli.output import document, print_json, print_lines
from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.facts.named_files import named_files
from railgauge.topo.files.compression import is_archive
from railgauge.topo.findings.finding import Level

if TYPE_CHECKING:
    from railgauge.topo.render.findings import Detail

MOST_BYTES = 1 << 30
"""More than the flight record of 4096 ranks."""


def explain(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="NCCL's logs of one or more ranks: files, .gz, .zst, tar, a folder, - (stdin); or a flight record.",
        ),
    ],
    source: OtherMachine = None,
    save: SaveCapture = None,
    as_json: Json = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Show what NCCL chose, if it uses RDMA and GPUDirect RDMA, and what is wrong; or where a run's ranks stopped.

    Recordings of nccl run are reported as by nccl report.

    Examples:
        railgauge log explain nccl.*.log
        railgauge log explain job-4711/
        srun ./train 2>&1 | railgauge log explain - --from live
    """
    detail = detail_of(verbose=verbose, quiet=quiet)
    if save is not None and source is None:
        raise UsageError("--save-capture requires --from, the machine to compare with")
    names = named_files(files)
    if names and all(map(is_recording_file, names)):
        from railgauge.cli.nccl.report import report

        report(names, source, as_json=as_json, verbose=verbose, quiet=quiet, fail_on=fail_on)
        return
    if len(names) == 1:
        first, content = begin(names[0])
        if RECORD.match(first):
            _record(content, names[0], as_json=as_json)
            return
        contents: Iterable[Iterable[bytes]] = logs_in(first, content, names[0]) if is_archive(first) else [content]
    else:
        contents = logs(names, files)
    _log(contents, names, source, save, detail, as_json=as_json, fail_on=fail_on)


def _record(content: Iterable[bytes], path: str, *, as_json: bool) -> None:
    from railgauge.collectives.record import parse_record
    from railgauge.collectives.report.record import record_text

    data = b""
    for block in content:
        data += block
        if len(data) > MOST_BYTES:
            raise InputError(f"larger than {MOST_BYTES >> 20} MiB: not a flight record", path)
    record = parse_record(data, path)
    if as_json:
        print_json(record.to_json())
    else:
        print(record_text(record))


def _log(
    contents: Iterable[Iterable[bytes]],
    files: list[str],
    source: list[str] | None,
    save: str | None,
    detail: "Detail",
    *,
    as_json: bool,
    fail_on: Level,
) -> None:
    from railgauge.topo.files.lines import whole_lines
    from railgauge.topo.findings.cards.parts import FEWER_CHANNELS
    from railgauge.topo.jobs.logs.log import Log
    from railgauge.topo.jobs.logs.verdict import verdict
    from railgauge.topo.render.log import log_document, log_lines

    log = Log()
    for content in contents:
        for block in whole_lines(content):
            log.read(block)
        log.end_file()
    if log.empty:
        raise InputError(
            "neither NCCL log lines nor a flight record: run the job with NCCL_DEBUG=INFO (and "
            "NCCL_DEBUG_SUBSYS=INIT,ENV,NET,GRAPH for more); NCCL_DEBUG_FILE=nccl.%h.%p writes it to files",
            files[0] if len(files) == 1 else f"{len(files)} files",
        )
    machine = open_machine(one_machine(source), save=save) if source else None
    judged = verdict(log, machine)
    fewer = any(finding.id == FEWER_CHANNELS.id for finding in judged.findings)
    may: tuple[str, ...] = ()
    if machine and not fewer:
        from railgauge.topo.jobs.logs.allowed import allowed

        may = allowed(log, machine)
    if as_json:
        print_json(document("log", "", **log_document(log, judged, may)))
    else:
        from railgauge.topo.render.findings import Detail

        if detail is not Detail.BRIEF:
            print_lines(log_lines(log, judged, may))
        if judged.findings:
            print_findings(judged.findings, detail=detail)
    leave_with(judged.findings, fail_on)
