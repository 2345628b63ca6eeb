# SPDX-License-Identifier: Apache-2.0
"""How `railgauge run` begins: it launches the ranks, or it is one process of a job that something else launched.

A launching process loads nothing of the engine, so that its ranks start sooner.
"""

import os
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railgauge.cli.output import json_text, write_text
from railgauge.cli.run_answer import Answer, check_folders
from railgauge.collectives.job import Job
from railgauge.collectives.launch.launch import Launch, launcher
from railgauge.collectives.launch.place import BY_HAND, Place, find_place, tasks_of_allocation
from railgauge.collectives.launch.tether import command_line, die_with_parent, is_launched, is_tethered, report_is_out
from railgauge.topo.errors import Error, PeerLostError, RunError, UsageError
from railgauge.topo.host_ranks import MAX_RANKS

if TYPE_CHECKING:
    from railgauge.cli.run_compare import Older
    from railgauge.collectives.launch.hostfile import Host
    from railgauge.collectives.run import Finished
    from railgauge.collectives.tuning_file import Timed, TuningPlace

ALONE = Place(process=0, processes=1, local_process=0, local_processes=1, init_method="hash://", launcher="nobody")
NOT_FOR_RANKS = frozenset(
    (*("launcher", "hostfile", "hosts", "ranks", "variables", "dry_run"), *("rank", "world_size", "local_rank"))
)
"""Parameters of `run` that ranks do not get: the launcher's, and places, which they find in the environment."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """The flags that say where the ranks come from."""

    ranks: int | None
    launcher: str | None
    hostfile: str | None
    hosts: str | None
    variables: list[str]
    dry_run: bool
    init_method: str | None
    rank: int | None
    world_size: int | None
    local_rank: int | None
    for_ranks: list[str]
    """The command line for the ranks, without what is the launcher's."""

    @property
    def launches(self) -> bool:
        """Whether a launcher was asked for by name or by what only one can use."""
        return bool(self.launcher or self.hostfile or self.hosts or self.dry_run or self.variables)


def start(job: Job, asked: Start, answer: Answer, remarks: list[str]) -> int:
    """Launch the ranks or be some of them; return the exit status. Rank 0's process gives the `answer` and says the
    `remarks`.

    Raises:
        UsageError: the flags and the environment contradict each other.
    """
    check_place(asked)
    place = None if asked.dry_run else place_of(asked)
    if has_to_launch(asked, place, job.ranks_per_process):
        return launch(job, asked, answer)
    place = place or ALONE
    if place.process == 0:
        for remark in remarks:
            print(f"railgauge run: {remark}", file=sys.stderr)
    return run_here(job, place, answer)


def has_to_launch(asked: Start, place: Place | None, ranks_per_process: int) -> bool:
    """Whether this process starts the ranks. One that was itself started as the only one of a job still may.

    Raises:
        UsageError: it is to start ranks, but is one of several, or what a launcher of ours started.
    """
    there = place.processes * ranks_per_process if place else None
    if not asked.launches and asked.ranks in (None, there):
        return False
    if not is_launched() and (place is None or place.processes == 1):
        return True
    started = "railgauge's launcher started this process"
    if place:
        said = "say that this is one of" if place.launcher == BY_HAND else "started"
        started = f"{place.launcher} {said} {place.processes} processes of {ranks_per_process} ranks each"
    if not asked.launches:
        raise UsageError(f"--ranks {asked.ranks}, but {started}: leave --ranks out, or start railgauge without it")
    raise UsageError(
        f"{started}, and ranks start no others: leave --launcher, --hostfile, --hosts and -x out, "
        f"or {'unset these' if place and place.launcher == BY_HAND else 'start railgauge without it'}"
    )


def check_place(asked: Start) -> None:
    """Refuse flags that say half of this process's place, or say it where this process is to start the job's.

    Raises:
        UsageError: they do.
    """
    flags = {"--rank": asked.rank, "--world-size": asked.world_size, "--local-rank": asked.local_rank}
    given = [flag for flag, value in flags.items() if value is not None]
    if not given:
        return
    if asked.launches or asked.ranks is not None:
        raise UsageError(
            f"{', '.join(given)}: that is the place of one process, and here processes are to be started: "
            f"leave it out, or leave --launcher, --ranks, --hostfile, --hosts, -x and --dry-run out"
        )
    if asked.rank is None or asked.world_size is None:
        raise UsageError(f"{', '.join(given)} is half a place: --rank and --world-size belong together")


def place_of(asked: Start) -> Place | None:
    """This process's place by its flags, else by the environment; None when it is in no job."""
    if asked.rank is None or asked.world_size is None:
        return find_place(os.environ, asked.init_method)
    return Place(
        process=asked.rank,
        processes=asked.world_size,
        local_process=asked.local_rank,
        init_method=asked.init_method or "env://",
        launcher="--rank and --world-size",
    )


def launch(job: Job, asked: Start, answer: Answer) -> int:
    """Have the ranks started and wait for them."""
    chosen = launcher(asked.launcher or ("ssh" if asked.hostfile or asked.hosts else "local"))
    plan = launch_of(job, asked)
    if not plan.hosts:
        check_folders(answer.paths)
        try:
            older_result(job, answer)
        except Error as error:
            return fail(job, answer, plan.processes * job.ranks_per_process, error)
    if asked.dry_run:
        for command in chosen.commands(plan):
            print(shlex.join(command))
        return 0
    try:
        ended = chosen.start(plan)
    except BrokenPipeError:  # whoever read our stdout has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    if ended.status not in (0, 130) and not ended.reported and (ended.message or job.json or answer.files):
        from railgauge.cli.run_output import RunOutput
        from railgauge.collectives.document import RunDocument

        ranks = plan.processes * job.ranks_per_process
        document = RunDocument.failed(job.collective, ranks, ended.message or "the run failed before it had a result")
        RunOutput(job, answer.files, leads=True).finish(document, RunError(document.error))
    elif ended.message:
        print(f"railgauge run: {ended.message}", file=sys.stderr)
    return ended.status


def launch_of(job: Job, asked: Start) -> Launch:
    """What the launcher has to do."""
    processes, rest = divmod(asked.ranks, job.ranks_per_process) if asked.ranks else (None, 0)
    if rest:
        raise UsageError(f"--ranks {asked.ranks} is not a multiple of -t x -g = {job.ranks_per_process}")
    hosts = seats(asked, processes)
    if asked.launcher == "srun" and not hosts:
        processes = processes or tasks_of_allocation()
    elif not hosts and (processes or 1) * job.ranks_per_process > MAX_RANKS:
        raise UsageError(f"--ranks {asked.ranks}: {MAX_RANKS} are possible on one machine")
    return Launch(
        argv=["run", *asked.for_ranks],
        processes=sum(host.slots for host in hosts) or processes or 1,
        hosts=hosts,
        variables=asked.variables,
        timeout_s=job.timeout_s,
        init_method=asked.init_method,
        command=command_line(),
    )


def seats(asked: Start, processes: int | None) -> "list[Host]":
    """The hosts and how many processes each takes; none: this one alone."""
    if not asked.hostfile and not asked.hosts:
        return []
    from railgauge.collectives.launch.hostfile import fill, hosts_from, load

    hosts = load(asked.hostfile) if asked.hostfile else hosts_from(asked.hosts or "")
    used, remark = fill(hosts, processes)
    if remark:
        print(f"railgauge run: {remark}", file=sys.stderr)
    return used


def ranks_arguments(parameters: list[Any], given: Mapping[str, Any]) -> list[str]:
    """A command line that gives what was given, without what is for the launcher.

    Args:
        parameters: typer's, of the command.
        given: by a parameter's name the text as it was typed, a list of such, True for a flag.
    """
    words: list[str] = []
    for parameter in parameters:
        value = given.get(parameter.name)
        if value is None or parameter.name in NOT_FOR_RANKS:
            continue
        name = [parameter.opts[0]] if parameter.param_type_name == "option" else []
        for each in value if isinstance(value, list) else [value]:
            words += name if each is True else [*name, str(each)]
    return words


def run_here(job: Job, place: Place, answer: Answer) -> int:
    """Be this process's ranks; rank 0's process prints the result, another one only what rank 0 cannot say."""
    from railgauge.cli.run_output import RunOutput
    from railgauge.collectives.run import Finished, run_process
    from railgauge.transports.tcp import allow_many_files

    die_with_parent()
    allow_many_files()  # memory and sockets of many ranks
    output = RunOutput(job, answer.files, leads=place.process == 0)
    if place.process == 0:
        check_folders(answer.paths)
        try:
            output.older = older_result(job, answer)
        except Error as error:
            status = fail(job, answer, place.processes * job.ranks_per_process, error)
            report_is_out()
            return status

    def report(finished: Finished) -> int:
        if finished.error and place.process != 0 and speaks(finished, place, job):
            print(f"railgauge run: rank {place.process * job.ranks_per_process}: {finished.error}", file=sys.stderr)
        status = output.finish(finished.document, finished.error)
        try:
            if finished.timed_at and finished.document:
                save_times(finished.timed_at, finished.document.timed)
            if answer.record and finished.record:
                write_text(answer.record, json_text(finished.record.to_json()) + "\n")
        except Error as problem:
            print(f"railgauge run: {problem}", file=sys.stderr)
            return status or problem.exit_status
        return status

    status = run_process(job, place, output.say, report)
    if place.process == 0:
        report_is_out()
    return status


def older_result(job: Job, answer: Answer) -> "Older | None":
    """What the result is to be compared with; that and a tuning file are looked at before anything runs.

    Raises:
        InputError: one of them is damaged. UsageError: OLD is of another collective. UnavailableError: no file can be
        written there.
    """
    from railgauge.cli.run_compare import load
    from railgauge.collectives.tuning_file import prepare_tuning, tuning_file

    if job.tune:
        prepare_tuning(tuning_file(os.environ))
    return load(answer.compare, answer.tolerance, job.collective) if answer.compare else None


def fail(job: Job, answer: Answer, ranks: int, error: Error) -> int:
    """End before anything ran; the exit status."""
    from railgauge.cli.run_output import RunOutput
    from railgauge.collectives.document import RunDocument

    document = RunDocument.failed(job.collective, ranks, str(error))
    return RunOutput(job, answer.files, leads=True).finish(document, error)


def save_times(place: "TuningPlace", timed: "Sequence[Timed]") -> None:
    """Put what was measured into the tuning file, beside what it has of other collectives and places."""
    from railgauge.collectives import tuning_file

    path = tuning_file.tuning_file(os.environ)
    there = tuning_file.read_tuning(path) if os.path.exists(path) else {}
    found = tuning_file.with_measured(there, place, timed)
    write_text(path, json_text(tuning_file.tuning_document(found)) + "\n")


def speaks(finished: "Finished", place: Place, job: Job) -> bool:
    """Whether this process tells what went wrong although rank 0 does too.

    One of each host does, so that it stands on every host's terminal, one whose rank 0 is lost does for all, and one
    that was not let in, unless our own launcher started it, which gives all the same.
    """
    error = finished.error
    lost = error.rank if isinstance(error, PeerLostError) else None
    lost_rank_0 = lost is not None and lost < job.ranks_per_process and place.process == 1
    refused = not finished.joined and not isinstance(error, RunError) and not is_tethered()
    return place.local_process in (None, 0) or lost_rank_0 or refused
