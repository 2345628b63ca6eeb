# SPDX-License-Identifier: Apache-2.0
"""Starts a command that needs ranks: it launches them, or it is itself one process of a launched job.

Its imports are lazy: what launches over ssh, mpirun or torchrun needs no part of the engine.
"""

import os
import shlex
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railgauge.cli import everywhere
from railgauge.cli.streams import tell
from railgauge.collectives.launch.launch import Ended, Launch, launcher
from railgauge.collectives.launch.place import BY_HAND, Place, check_world, find_place, tasks_of_allocation
from railgauge.collectives.launch.tether import command_line, is_launched, is_tethered
from railgauge.topo.errors import INTERRUPTED, PeerLostError, RunError, UsageError
from railgauge.topo.nccl.graph.host_ranks import MAX_RANKS

if TYPE_CHECKING:
    from railgauge.collectives.launch.hostfile import Host

ALONE = Place(process=0, processes=1, local_process=0, local_processes=1, init_method="hash://", launcher="nobody")
NOT_FOR_RANKS = frozenset(
    (
        *("launcher", "hostfile", "hosts", "nodes", "ranks", "variables", "dry_run"),
        *("rank", "world_size", "local_rank"),
    )
)
"""Parameters not passed to ranks: the launcher's, and places, which ranks read from the environment."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """The options that say how the ranks start."""

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
    """The command line for the ranks, after the command's name, without the launcher's options."""
    command: str
    """What the ranks run: `run`, `link`."""

    @property
    def launches(self) -> bool:
        """Whether an option names a launcher or needs one."""
        return bool(self.launcher or self.hostfile or self.hosts or self.dry_run or self.variables)


def own_place(asked: Start, ranks_per_process: int) -> Place | None:
    """This process's place in its job; None if it has to start the ranks.

    Raises:
        UsageError: the options and the environment contradict each other.
    """
    check_place(asked)
    place = None if asked.dry_run else place_of(asked)
    return None if has_to_launch(asked, place, ranks_per_process) else place or ALONE


def launch_ranks(asked: Start, plan: Launch) -> Ended:
    """Start the ranks through the launcher and wait for them; --dry-run prints the commands instead."""
    chosen = launcher(asked.launcher or ("ssh" if asked.hostfile or asked.hosts else "local"))
    if asked.dry_run:
        for command in chosen.commands(plan):
            print(shlex.join(command))
        return Ended(0, None, reported=True)
    try:
        return chosen.start(plan)
    except KeyboardInterrupt:
        return Ended(128 + signal.SIGINT, INTERRUPTED, reported=False)
    except BrokenPipeError:  # the reader of our stdout is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Ended(128 + signal.SIGPIPE, None, reported=True)


def has_to_launch(asked: Start, place: Place | None, ranks_per_process: int) -> bool:
    """Whether this process starts the ranks; the only process of a job may do so too.

    Raises:
        UsageError: it would have to start ranks, but is one of several processes, or was started by our launcher.
    """
    there = place.processes * ranks_per_process if place else None
    if not asked.launches and asked.ranks in (None, there):
        return False
    if not is_launched() and (place is None or place.processes == 1):
        return True
    started = "railgauge's launcher started this process"
    if place:
        verb = "say that this is one of" if place.launcher == BY_HAND else "started"
        started = f"{place.launcher} {verb} {place.processes} processes of {ranks_per_process} ranks each"
    if not asked.launches:
        raise UsageError(f"--ranks {asked.ranks}, but {started}: leave --ranks out, or start railgauge without it")
    raise UsageError(
        f"{started}; a rank cannot start ranks: leave --launcher, --hostfile, --hosts and -x out, "
        f"or {'unset these' if place and place.launcher == BY_HAND else 'start railgauge without it'}"
    )


def check_place(asked: Start) -> None:
    """Check the options that give this process's place.

    Raises:
        UsageError: they give half a place, or a place for a process that has to start the ranks.
    """
    flags = {"--rank": asked.rank, "--world-size": asked.world_size, "--local-rank": asked.local_rank}
    given = [flag for flag, value in flags.items() if value is not None]
    if not given:
        return
    if asked.launches or asked.ranks is not None:
        raise UsageError(
            f"{', '.join(given)}: place one process of a job, but this command starts processes: "
            f"leave them out, or leave --launcher, --ranks, --hostfile, --hosts, -x and --dry-run out"
        )
    if asked.rank is None or asked.world_size is None:
        raise UsageError(f"{', '.join(given)} alone: --rank and --world-size have to be given together")


def place_of(asked: Start) -> Place | None:
    """This process's place by its options, else by the environment; None outside of a job."""
    if asked.rank is None or asked.world_size is None:
        return find_place(os.environ, asked.init_method)
    return Place(
        process=asked.rank,
        processes=asked.world_size,
        local_process=asked.local_rank,
        init_method=asked.init_method or "env://",
        launcher="--rank and --world-size",
    )


def launch_of(asked: Start, ranks_per_process: int, timeout_s: float) -> Launch:
    """The launcher's task."""
    processes, rest = divmod(asked.ranks, ranks_per_process) if asked.ranks else (None, 0)
    if rest:
        raise UsageError(f"--ranks {asked.ranks} is not a multiple of -t x -g = {ranks_per_process}")
    hosts = hosts_of(asked, processes)
    if asked.launcher == "srun" and not hosts:
        processes = processes or tasks_of_allocation()
    elif not hosts and (processes or 1) * ranks_per_process > MAX_RANKS:
        raise UsageError(f"--ranks {asked.ranks}: at most {MAX_RANKS} ranks on one machine")
    total = sum(host.slots for host in hosts) or processes or 1
    check_world(total * ranks_per_process)
    return Launch(
        argv=[asked.command, *everywhere.given(), *asked.for_ranks],
        processes=total,
        hosts=hosts,
        variables=asked.variables,
        timeout_s=timeout_s,
        init_method=asked.init_method,
        command=command_line(),
    )


def hosts_of(asked: Start, processes: int | None) -> "list[Host]":
    """The hosts, each with its number of processes; empty for this host alone."""
    if not asked.hostfile and not asked.hosts:
        return []
    from railgauge.collectives.launch.hostfile import fill, hosts_from, load

    hosts = load(asked.hostfile) if asked.hostfile else hosts_from(asked.hosts or "")
    used, remark = fill(hosts, processes)
    if remark:
        tell(f"railgauge {asked.command}: {remark}")
    return used


def ranks_arguments(parameters: list[Any], given: Mapping[str, Any]) -> list[str]:
    """The command line as it was given, without the launcher's options.

    Args:
        parameters: typer's parameters of the command.
        given: by parameter name, the text as typed, a list of such texts, or True for a flag.
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


def speaks(error: BaseException | None, place: Place, ranks_per_process: int, *, joined: bool) -> bool:
    """Whether this process reports an error in addition to rank 0.

    One process per host does, so that each host's terminal shows it; so does process 1 if rank 0 is lost, and a process
    that could not join, unless our own launcher started it (that one passes the same options to all).
    """
    lost = error.rank if isinstance(error, PeerLostError) else None
    lost_rank_0 = lost is not None and lost < ranks_per_process and place.process == 1
    refused = not joined and not isinstance(error, RunError) and not is_tethered()
    return place.local_process in (None, 0) or lost_rank_0 or refused
