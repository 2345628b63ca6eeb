# SPDX-License-Identifier: Apache-2.0
"""How `railgauge run` begins: it launches the ranks, or it is one process of a job that something else launched.

A launching process loads nothing of the engine, so that its ranks start sooner.
"""

import os
import resource
import shlex
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railgauge.collectives.job import Job
from railgauge.collectives.launch.launch import Launch, launcher
from railgauge.collectives.launch.place import Place, find_place
from railgauge.collectives.launch.tether import die_with_parent, is_tethered, report_is_out
from railgauge.topo.errors import PeerLostError, RunError, UsageError
from railgauge.topo.host_ranks import MAX_RANKS

if TYPE_CHECKING:
    from railgauge.collectives.launch.hostfile import Host
    from railgauge.collectives.run import Finished

ALONE = Place(process=0, processes=1, local_process=0, local_processes=1, init_method="hash://", launcher="nobody")
LAUNCHING = {"--launcher", "--hostfile", "--hosts", "--ranks", "-np", "-x"}
"""Flags for the launcher alone, each with a value; with --dry-run they are not handed on to the ranks."""


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

    @property
    def launches(self) -> bool:
        """Whether a launcher was asked for by name or by what only one can use."""
        return bool(self.launcher or self.hostfile or self.hosts or self.dry_run or self.variables)


def start(job: Job, asked: Start, output_file: str, remarks: list[str]) -> int:
    """Launch the ranks or be some of them; return the exit status. Rank 0's process says the `remarks`.

    Raises:
        UsageError: the flags and the environment contradict each other.
    """
    if asked.launches:
        return launch(job, asked, output_file)
    place = place_of(asked)
    if place is None and asked.ranks is not None:
        return launch(job, asked, output_file)
    if place and asked.ranks not in (None, place.processes * job.ranks_per_process):
        raise UsageError(
            f"--ranks {asked.ranks}, but {place.launcher} started {place.processes} processes "
            f"of {job.ranks_per_process} ranks each: leave --ranks out, or start railgauge without it"
        )
    place = place or ALONE
    if place.process == 0:
        for remark in remarks:
            print(f"railgauge run: {remark}", file=sys.stderr)
    return run_here(job, place, output_file)


def place_of(asked: Start) -> Place | None:
    """This process's place by its flags, else by the environment; None when it is in no job."""
    if asked.rank is None and asked.world_size is None:
        return find_place(os.environ, asked.init_method)
    if asked.rank is None or asked.world_size is None:
        raise UsageError("--rank and --world-size belong together")
    return Place(
        process=asked.rank,
        processes=asked.world_size,
        local_process=asked.local_rank,
        init_method=asked.init_method or "env://",
        launcher="--rank and --world-size",
    )


def launch(job: Job, asked: Start, output_file: str) -> int:
    """Have the ranks started and wait for them."""
    chosen = launcher(asked.launcher or ("ssh" if asked.hostfile or asked.hosts else "local"))
    plan = launch_of(job, asked)
    if asked.dry_run:
        for command in chosen.commands(plan):
            print(shlex.join(command))
        return 0
    try:
        ended = chosen.start(plan)
    except BrokenPipeError:  # whoever read our stdout has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    if ended.status not in (0, 130) and not ended.reported and (ended.message or job.json or output_file):
        from railgauge.cli.run_output import RunOutput
        from railgauge.collectives.document import RunDocument

        ranks = plan.processes * job.ranks_per_process
        document = RunDocument.failed(job.collective, ranks, ended.message or "the run failed before it had a result")
        RunOutput(job, output_file, leads=True).finish(document, RunError(document.error))
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
        processes = processes or int(os.environ.get("SLURM_NTASKS") or 1)  # as many as the allocation is for
    elif not hosts and (processes or 1) * job.ranks_per_process > MAX_RANKS:
        raise UsageError(f"--ranks {asked.ranks}: {MAX_RANKS} are possible on one machine")
    return Launch(
        argv=ranks_arguments(sys.argv[1:]),
        processes=sum(host.slots for host in hosts) or processes or 1,
        hosts=hosts,
        variables=asked.variables,
        timeout_s=job.timeout_s,
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


def ranks_arguments(argv: list[str]) -> list[str]:
    """The command line without what is for the launcher: a rank finds its place in the environment."""
    kept, skip = [], False
    for argument in argv:
        name = argument.partition("=")[0]
        if skip:
            skip = False
        elif name in LAUNCHING:
            skip = "=" not in argument
        elif argument != "--dry-run":
            kept.append(argument)
    return kept


def run_here(job: Job, place: Place, output_file: str) -> int:
    """Be this process's ranks; rank 0's process prints the result, another one only what rank 0 cannot say."""
    from railgauge.cli.run_output import RunOutput
    from railgauge.collectives.run import Finished, run_process

    die_with_parent()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))  # memory and sockets of many ranks
    output = RunOutput(job, output_file, leads=place.process == 0)

    def report(finished: Finished) -> int:
        if finished.error and place.process != 0 and speaks(finished, place, job):
            print(f"railgauge run: rank {place.process * job.ranks_per_process}: {finished.error}", file=sys.stderr)
        return output.finish(finished.document, finished.error)

    status = run_process(job, place, output.say, report)
    if place.process == 0:
        report_is_out()
    return status


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
