# SPDX-License-Identifier: Apache-2.0
"""The local launcher: starts N rank processes on this machine and makes sure that none outlives the run.

Every rank is this same command line with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT set, as torchrun
would start it. Rank 0 inherits the listening socket, so no other program can take the port in between.
"""

import os
import signal
import socket
import time
from multiprocessing.process import BaseProcess

from railgauge.collectives.launch.forked_rank import prepare, start_rank
from railgauge.collectives.launch.launch import (
    Ended,
    Launch,
    environment,
    exit_on_signals,
    rank_command,
    variables_of,
)
from railgauge.collectives.launch.processes import POLL_S, grace_s, kill, wait
from railgauge.collectives.launch.tether import LAUNCHER_PID, REPORT_FD
from railgauge.topo.errors import UsageError


def commands(launch: Launch) -> list[list[str]]:
    """A command for each process, to be run together; their rendezvous is at a port that is free now. Errors as of
    `start`.
    """
    _check_here(launch)
    with _listener() as listener:
        port = _port(listener)
    return [
        ["env", *(f"{name}={value}" for name, value in _place(launch, rank, port).items()), *rank_command(launch)]
        for rank in range(launch.processes)
    ]


def start(launch: Launch) -> Ended:
    """Run the ranks and wait for all; none is left when it returns or raises.

    Raises:
        UsageError: hosts are named, or -x is wrong.
    """
    _check_here(launch)
    told, tells = os.pipe()
    ranks: dict[int, BaseProcess] = {}
    prepare(launch.argv[0])
    try:
        with exit_on_signals(), _listener() as listener:
            exported = environment(launch)
            for rank in range(launch.processes):
                mine = {} if rank else {"RAILGAUGE_LISTEN_FD": listener.fileno(), REPORT_FD: tells}
                ranks[rank] = start_rank(
                    launch.argv,
                    exported
                    | _place(launch, rank, _port(listener))
                    | {LAUNCHER_PID: str(os.getpid())}
                    | {name: str(descriptor) for name, descriptor in mine.items()},
                    shows=rank == 0,
                    closed={told, tells, listener.fileno()} - set(mine.values()),
                )
            listener.close()
            os.close(tells)
            status, message = _wait(ranks, grace_s(launch.timeout_s))
            return Ended(status, message, reported=os.read(told, 1) != b"")
    finally:
        kill(ranks)
        os.close(told)


def _wait(ranks: dict[int, BaseProcess], within_s: float) -> tuple[int, str | None]:
    """Wait for the ranks; Ctrl-C ends them, and rank 0 reports how far it got."""
    try:
        return wait(ranks, within_s)
    except KeyboardInterrupt:
        for process in ranks.values():
            if process.exitcode is None and process.pid:
                os.kill(process.pid, signal.SIGINT)
        deadline = time.monotonic() + within_s
        while ranks[0].exitcode is None and time.monotonic() < deadline:
            time.sleep(POLL_S)
        kill(ranks)
        return 128 + signal.SIGINT, None


def _listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0), backlog=1024)


def _port(listener: socket.socket) -> str:
    return str(listener.getsockname()[1])


def _check_here(launch: Launch) -> None:
    if launch.hosts:
        raise UsageError("--launcher local starts ranks on this host only: leave the hosts out, or use ssh or mpirun")


def _place(launch: Launch, rank: int, port: str) -> dict[str, str]:
    """The variables that give a process its rank, as in torch's env://."""
    return variables_of(launch) | {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(launch.processes),
        "LOCAL_WORLD_SIZE": str(launch.processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
    }
