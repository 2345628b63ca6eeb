# SPDX-License-Identifier: Apache-2.0
"""The ranks of a soak as processes: started, waited for, and ended in any case."""

import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.soak.rank import Report, Task, be_rank


@dataclass(frozen=True)
class World:
    """How ranks are placed, and what else is set for them."""

    hosts: int
    environ: dict[str, str] = field(default_factory=dict)


WORLDS = {
    "shm": World(1),
    "rings": World(1, {"NCCL_ALGO": "Ring"}),
    "hosts": World(3),
    "helpers": World(2, {"NCCL_SOCKET_NTHREADS": "2", "NCCL_NSOCKS_PERTHREAD": "2"}),
}
"""One host, over shared segments and over rings in shared memory; synthetic hosts, over sockets in between."""
TIMEOUT_S = 60.0
"""Of a single wait."""


def soak(
    world: World, ranks: int, *, seed: int, collectives: int, only: int | None = None, limit_s: float
) -> list[Report]:
    """Run it, and return what each rank reports; a rank that says nothing within the limit is killed."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        task = Task(str(Path(folder, "store")), ranks, world.environ, seed, collectives, only, TIMEOUT_S)
        started: list[tuple[BaseProcess, Connection]] = []
        try:
            for rank in range(ranks):
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=be_rank, args=(task, rank, rank * world.hosts // ranks, theirs))
                process.start()
                theirs.close()
                started.append((process, ours))
            return reports(started, time.monotonic() + limit_s)
        finally:
            for process, ours in started:
                process.kill()
                process.join()
                ours.close()


def reports(started: Sequence[tuple[BaseProcess, Connection]], until: float) -> list[Report]:
    """Their reports before that time (time.monotonic())."""
    waiting = {process.sentinel for process, _ in started}
    while waiting and (left := until - time.monotonic()) > 0:
        waiting -= {one for one in wait(list(waiting), left) if isinstance(one, int)}
    return [report(process, ours) for process, ours in started]


def report(process: BaseProcess, ours: Connection) -> Report:
    """One process's report, or why there is none."""
    try:
        if ours.poll():
            said: Report = ours.recv()
            return said
    except EOFError:
        pass
    if process.exitcode is None:
        return Report(wrong="it was still running when the time was over")
    return Report(wrong=f"it ended with status {process.exitcode} without a report")
