# SPDX-License-Identifier: Apache-2.0
"""Starts `railgauge run`: it launches the ranks, or it is itself one process of a launched job.

Its imports are lazy: what launches over ssh, mpirun or torchrun needs no part of the engine.
"""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from railgauge.cli.json_text import json_text
from railgauge.cli.output import check_folders, write_text
from railgauge.cli.ranks_start import ALONE, Start, launch_of, launch_ranks, own_place, speaks
from railgauge.cli.run.result_file import RunAnswer
from railgauge.cli.streams import tell
from railgauge.collectives.job import Job
from railgauge.collectives.launch.place import Place
from railgauge.collectives.launch.tether import die_with_parent, hear_interrupts_once, report_is_out
from railgauge.topo.errors import INTERRUPTED, Error, RunError, described, status_of

if TYPE_CHECKING:
    from railgauge.cli.run.compare import Older
    from railgauge.collectives.tuning_file import Timed, TuningPlace


def start(job: Job, asked: Start, answer: RunAnswer, remarks: Callable[[], list[str]]) -> int:
    """Launch the ranks or be some of them; return the exit status. Rank 0's process prints the
    `answer` and the `remarks`.

    Raises:
        UsageError: the options and the environment contradict each other.
    """
    place = own_place(asked, job.ranks_per_process)
    if place is None:
        return launch(job, asked, answer)
    if place.process == 0:
        for remark in remarks():
            tell(f"railgauge run: {remark}")
    if place is ALONE and job.ranks_per_process == 1:
        tell(f"railgauge run: {one_rank(job.device)}")
    return run_here(job, place, answer)


def one_rank(device: str) -> str:
    """What a run without ranks took, and how to get more."""
    from railgauge._native import collectives as native
    from railgauge.collectives.device import Device, resolve

    hosts = "--hosts or --hostfile on several hosts"
    if resolve(device) is Device.CPU:
        return f"1 rank in host memory; --ranks N starts N on this machine, {hosts}"
    count = native.gpu_count()
    more = f"-g {count} uses all" if count > 1 else "this machine has no other"
    return f"1 rank on 1 of {count} GPU{'s' * (count > 1)}; {more}, {hosts}"


def launch(job: Job, asked: Start, answer: RunAnswer) -> int:
    """Start the ranks through the launcher and wait for them."""
    plan = launch_of(asked, job.ranks_per_process, job.timeout_s)
    if not plan.hosts:
        check_folders(answer.paths)
        try:
            older_result(job, answer)
        except Error as error:
            return fail(job, answer, plan.processes * job.ranks_per_process, error)
    ended = launch_ranks(asked, plan)
    interrupted = ended.status == status_of(KeyboardInterrupt())
    if not ended.reported and ended.status and (job.json or answer.files or (ended.message and not interrupted)):
        from railgauge.cli.run.output import RunOutput
        from railgauge.collectives.document import RunDocument

        ranks = plan.processes * job.ranks_per_process
        message = INTERRUPTED if interrupted else ended.message or "the run failed before it had a result"
        document = RunDocument.failed(job.name, ranks, message, job.engine)
        RunOutput(job, answer.files, leads=True).finish(document, RunError(document.error))
    elif ended.message and not interrupted:
        tell(f"railgauge run: {ended.message}")
    return ended.status


def run_here(job: Job, place: Place, answer: RunAnswer) -> int:
    """Run this process's ranks; rank 0's process prints the result, another one only what rank 0 cannot report."""
    from railgauge.cli.run.output import RunOutput
    from railgauge.collectives.device import leave_at_once
    from railgauge.collectives.run import Finished, run_process
    from railgauge.transports.tcp import allow_many_files

    die_with_parent()
    hear_interrupts_once()
    allow_many_files()  # memory and sockets of many ranks
    output = RunOutput(job, answer.files, leads=place.process == 0, fail_on=answer.fail_on)
    if place.process == 0:
        check_folders(answer.paths)
        try:
            output.older = older_result(job, answer)
        except Error as error:
            status = fail(job, answer, place.processes * job.ranks_per_process, error)
            report_is_out()
            return status

    is_running = False

    def report(finished: Finished) -> int:
        nonlocal is_running
        is_running = finished.is_running
        error, ranks = finished.error, job.ranks_per_process
        if error and place.process != 0 and speaks(error, place, ranks, joined=finished.joined):
            tell(f"railgauge run: rank {place.process * ranks}: {described(error)}")
        status = output.finish(finished.document, finished.error)
        try:
            if finished.timed_at and finished.document:
                save_times(finished.timed_at, finished.document.timed)
            if answer.record and finished.record:
                write_text(answer.record, json_text(finished.record.to_json()) + "\n")
        except Error as problem:
            tell(f"railgauge run: {problem}")
            return status or status_of(problem)
        return status

    status = run_process(job, place, output.say, report)
    if place.process == 0:
        report_is_out()
    leave_at_once(status, is_running=is_running)
    return status


def older_result(job: Job, answer: RunAnswer) -> "Older | None":
    """The result to compare with; reads it and a tuning file before anything runs.

    Raises:
        InputError: one of them is damaged. UsageError: OLD is of another collective. UnavailableError: the tuning file
        cannot be written.
    """
    from railgauge.collectives.tuning_file import prepare_tuning, tuning_file

    if job.tune:
        prepare_tuning(tuning_file(os.environ))
    if not answer.compare:
        return None
    from railgauge.cli.run.compare import load

    return load(answer.compare, answer.tolerance, job.collective)


def fail(job: Job, answer: RunAnswer, ranks: int, error: Error) -> int:
    """End before anything ran; return the exit status."""
    from railgauge.cli.run.output import RunOutput
    from railgauge.collectives.document import RunDocument

    document = RunDocument.failed(job.name, ranks, str(error), job.engine)
    return RunOutput(job, answer.files, leads=True).finish(document, error)


def save_times(place: "TuningPlace", timed: "Sequence[Timed]") -> None:
    """Write the measured times to the tuning file; keep its times of other collectives and places."""
    from railgauge.collectives import tuning_file

    path = tuning_file.tuning_file(os.environ)
    there = tuning_file.read_tuning(path) if os.path.exists(path) else {}
    found = tuning_file.with_measured(there, place, timed)
    write_text(path, json_text(tuning_file.tuning_document(found)) + "\n")
