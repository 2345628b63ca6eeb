# SPDX-License-Identifier: Apache-2.0
"""Starts a process for each GPU and reads rank 0's lines, with a timeout for every step."""

import contextlib
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from benchmarks.gpu_vs_nccl.rank import Job

ROOT = pathlib.Path(__file__).parents[2]
MORE_S = 15
"""Seconds beyond the ranks' own timeout, in which they can report the failure."""
START_S = 60
"""Seconds for starting: Python, CUDA, the plan."""
MOST_SAID = 2000
"""Characters of the ranks' stderr that are kept."""


class StalledError(Exception):
    """The ranks printed nothing for too long, or failed; with their output."""


def lines(job: Job, gpus: int, settings: dict[str, str], *, two_hosts: bool) -> Iterator[dict[str, Any]]:
    """Rank 0's lines, one by one; none of the processes is left at the end.

    Raises:
        StalledError: a step took too long, or a rank failed.
    """
    with tempfile.TemporaryFile("w+") as said, contextlib.ExitStack() as stack:
        started = [stack.enter_context(process) for process in _processes(job, gpus, settings, two_hosts, said)]
        reader = _Reader(started[0])
        limit = START_S + job.timeout_s
        while (line := reader.line(limit)) is not None:
            yield json.loads(line)
            limit = job.timeout_s + MORE_S
        status = [_ended(process) for process in started]
        if reader.late or any(status):
            said.seek(0)
            why = f"no output for {limit:g} s" if reader.late else f"exit status {status}"
            raise StalledError(f"{why}: {said.read()[-MOST_SAID:].strip()}")


class _Reader:
    """Lines of a process' stdout, each with a timeout."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout
        self._file = process.stdout.fileno()
        self._rest = b""
        self.late = False

    def line(self, timeout_s: float) -> bytes | None:
        """The next one; None at the end, and where it is late."""
        until = time.monotonic() + timeout_s
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._file], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                self.late = True
                return None
            more = os.read(self._file, 1 << 16)
            if not more:
                return None
            self._rest += more
        found, self._rest = self._rest.split(b"\n", 1)
        return found


def _processes(
    job: Job, gpus: int, settings: dict[str, str], two_hosts: bool, said: Any
) -> "Iterator[contextlib.AbstractContextManager[subprocess.Popen[bytes]]]":
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.gpu_vs_nccl.rank", json.dumps(asdict(job))]
    for rank in range(gpus):
        place: dict[str, int | str] = {"RANK": rank, "WORLD_SIZE": gpus, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": gpus}
        place |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        host = {"NCCL_HOSTID": f"host-{rank * 2 // gpus}"} if two_hosts else {}
        env = os.environ | settings | host | {name: str(value) for name, value in place.items()}
        yield _process(command, env, said)


@contextlib.contextmanager
def _process(command: list[str], env: dict[str, str], said: Any) -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=said, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout:
            process.stdout.close()


def _ended(process: "subprocess.Popen[bytes]") -> int | None:
    """The exit status; None of one that does not end."""
    try:
        return process.wait(MORE_S)
    except subprocess.TimeoutExpired:
        return None
