# SPDX-License-Identifier: Apache-2.0
"""The local launcher: starts N rank processes on this machine and sees to it that none outlives the run.

Every rank is this same command line with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT set, as torchrun
would start it. Rank 0 inherits the listening socket, so no other program can take the port in between.
"""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass

from railgauge.collectives.job import Place

PR_SET_PDEATHSIG = 1  # linux/prctl.h
GRACE_SHARE, LEAST_GRACE_S, MOST_GRACE_S = 0.1, 0.5, 5.0
"""Once one rank has failed the others have this share of the timeout, within these limits, to end by themselves."""
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Ended:
    """How the ranks ended: the status for the shell, and what to say about ranks that did not end by themselves."""

    status: int
    message: str | None
    reported: bool
    """Rank 0 has printed the result."""


def launch(processes: int, argv: list[str], timeout_s: float) -> Ended:
    """Run `railgauge argv` as `processes` ranks and wait for all; none is left when it returns or raises."""
    listener = listen()
    told, tells = os.pipe()
    ranks: list[subprocess.Popen[bytes]] = []
    try:
        with _terminate_as_exit():
            for rank in range(processes):
                ranks.append(_start(rank, processes, listener, tells, argv))
            listener.close()
            os.close(tells)
            codes, late = _wait(ranks, min(max(GRACE_SHARE * timeout_s, LEAST_GRACE_S), MOST_GRACE_S))
            return _verdict(codes, late, reported=os.read(told, 1) != b"")
    finally:
        _kill(ranks)
        os.close(told)


def listen() -> socket.socket:
    """A listening socket for the ranks of this machine, on a free port."""
    return socket.create_server(("127.0.0.1", 0), backlog=1024)


def only_process(listener: socket.socket) -> Place:
    """The place of a process that is the whole job."""
    address = listener.getsockname()[:2]
    return Place(process=0, processes=1, address=address, listen_fd=os.dup(listener.fileno()))


def die_with_parent() -> None:
    """Ask the kernel to kill this rank when its launcher dies, however that happens."""
    parent = os.environ.get("RAILGAUGE_LAUNCHER_PID")
    if parent is None:
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        os._exit(128 + signal.SIGKILL)  # it died before we asked


def report_is_out() -> None:
    """Tell the launcher that rank 0 has printed the result."""
    if fd := os.environ.get("RAILGAUGE_REPORT_FD"):
        os.write(int(fd), b".")


def _start(
    rank: int, processes: int, listener: socket.socket, tells: int, argv: list[str]
) -> "subprocess.Popen[bytes]":
    host, port = listener.getsockname()[:2]
    env = os.environ | {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(processes),
        "MASTER_ADDR": host,
        "MASTER_PORT": str(port),
        "RAILGAUGE_LAUNCHER_PID": str(os.getpid()),
    }
    fds: tuple[int, ...] = ()
    if rank == 0:
        env |= {"RAILGAUGE_LISTEN_FD": str(listener.fileno()), "RAILGAUGE_REPORT_FD": str(tells)}
        fds = (listener.fileno(), tells)
    command = [sys.executable, "-P", "-m", "railgauge", *argv]  # -P: not from the current folder
    stdout = None if rank == 0 else subprocess.DEVNULL
    return subprocess.Popen(command, env=env, pass_fds=fds, stdin=subprocess.DEVNULL, stdout=stdout)


def _wait(ranks: list["subprocess.Popen[bytes]"], grace_s: float) -> tuple[list[int], list[int]]:
    """Wait until all have ended: their exit codes, and which had to be killed a while after another one failed."""
    deadline: float | None = None
    late: list[int] = []
    while None in (codes := [process.poll() for process in ranks]):
        if deadline is None and any(codes):
            deadline = time.monotonic() + grace_s
        if deadline is not None and time.monotonic() > deadline:
            late = [rank for rank, code in enumerate(codes) if code is None]
            _kill(ranks)
            break
        time.sleep(POLL_S)
    return [process.returncode for process in ranks], late


def _verdict(codes: list[int], late: list[int], *, reported: bool) -> Ended:
    killed = {rank: -code for rank, code in enumerate(codes) if code < 0 and rank not in late}
    notes = [f"rank {rank} was killed by {_signal_name(number)}" for rank, number in killed.items()]
    notes += [f"rank {rank} had to be killed: it did not end by itself" for rank in late]
    # Ranks that were only told to stop end with 4; one that ended otherwise is the cause.
    failed = [code for code in codes if code > 0]
    status = 4 if killed or late else next((code for code in failed if code != 4), max(failed, default=0))
    if any(code in (130, -signal.SIGINT) for code in codes):
        status, notes = 130, []
    return Ended(status, "; ".join(notes) or None, reported)


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return f"signal {number} ({signal.Signals(number).name})"
    return f"signal {number}"


def _kill(ranks: list["subprocess.Popen[bytes]"]) -> None:
    for process in ranks:
        if process.poll() is None:
            process.kill()
    for process in ranks:
        process.wait()


@contextlib.contextmanager
def _terminate_as_exit():  # type: ignore[no-untyped-def]  # noqa: ANN202
    """Turn SIGTERM and SIGHUP into SystemExit, so that the ranks are taken down on the way out."""

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
