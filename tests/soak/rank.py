# SPDX-License-Identifier: Apache-2.0
"""One rank of a soak: it runs the steps, verifies each with NumPy, and watches its resources meanwhile."""

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection

import numpy as np
from tests.collectives import oracle
from tests.soak.footprint import Footprint, map_large_memory
from tests.soak.steps import STEPS_PER_PARTS, Step, colors, step, steps

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.process_group import init_process_group
from railgauge.collectives.work import Work

QUARTERS = 4
"""Of all collectives. In the first everything is made that is made once; the least of the last is held against that of
the second, so that what comes and goes is no growth."""


@dataclass(frozen=True)
class Task:
    """The request to all ranks."""

    store: str
    ranks: int
    environ: dict[str, str]
    seed: int
    collectives: int
    only: int | None
    timeout_s: float

    def steps(self) -> Iterable[Step]:
        """Those to do."""
        if self.only is None:
            return steps(self.seed, self.ranks, self.collectives)
        return [step(self.seed, self.ranks, self.only)]


@dataclass(frozen=True)
class Report:
    """The result of one rank: `wrong` is None if all was correct; before and after in a long soak."""

    steps: int = 0
    collectives: int = 0
    wrong: str | None = None
    at: int | None = None
    """The step that failed."""
    before: Footprint | None = None
    after: Footprint | None = None


def be_rank(task: Task, rank: int, host: int, report: Connection) -> None:
    """A process's main function; it sends one Report."""
    own = {"NCCL_HOSTID": f"host {host}", "NCCL_SOCKET_IFNAME": "lo", "RAILGAUGE_TUNING_FILE": os.devnull}
    os.environ.update(task.environ | own)
    map_large_memory()
    soak = Soak(task, rank)
    try:
        soak.run()
    except BaseException as error:
        at = soak.at.number if soak.at else None
        report.send(Report(wrong=f"step {at}: {type(error).__name__}: {error}", at=at))
    else:
        report.send(soak.report())


class Soak:
    """The work of one rank."""

    def __init__(self, task: Task, rank: int) -> None:
        self._task = task
        self._rank = rank
        self._done = self._collectives = 0
        self._looks: list[list[Footprint]] = [[] for _ in range(QUARTERS)]
        self.at: Step | None = None
        """What it is doing."""

    def run(self) -> None:
        """Run all steps.

        Raises:
            RunError: an operation failed. AssertionError: data was wrong.
        """
        task = self._task
        group = init_process_group(f"file://{task.store}", self._rank, task.ranks, timedelta(seconds=task.timeout_s))
        with group:
            make_everything(group.communicator)
            parts: list[Communicator | None] = []
            made_for = None
            for self.at in task.steps():
                if made_for != (made_for := self.at.number // STEPS_PER_PARTS):
                    close(parts)
                    parts = []
                    self._look()
                    parts = self._split(group.communicator, self.at.number)
                self._do(self.at, [group.communicator, *parts])
                self._done += 1
                self._collectives += len(self.at.calls)
            close(parts)
            parts = []
            self._look()
            self.at = None

    def report(self) -> Report:
        """The result; growth is an error too."""
        _, second, _, last = self._looks
        if not second or not last:
            return Report(self._done, self._collectives)
        before, after = Footprint.least(second), Footprint.least(last)
        grown = after.growth_since(before)
        wrong = f"resources have grown: {grown}" if grown else None
        return Report(self._done, self._collectives, wrong, before=before, after=after)

    def _look(self) -> None:
        """Where only the communicator of all ranks is open, and no arrays of a case are left."""
        oracle.drawn.cache_clear()
        quarter = self._collectives * QUARTERS // self._task.collectives
        self._looks[min(quarter, QUARTERS - 1)].append(Footprint.now())

    def _split(self, comm: Communicator, number: int) -> list[Communicator | None]:
        made = colors(self._task.seed, self._task.ranks, number)
        return [comm.split(*of_ranks[self._rank]) for of_ranks in made]

    def _do(self, one: Step, communicators: list[Communicator | None]) -> None:
        first = communicators[one.calls[0].communicator]
        called = []
        with first.group() if one.grouped and first else contextlib.nullcontext():
            for place, call in enumerate(one.calls):
                comm = communicators[call.communicator]
                if comm is None:
                    continue
                if call.case is None:
                    called.append((comm.barrier(async_op=call.in_background), None))
                else:
                    data = (self._task.seed * 1_000_000 + one.number) * 10 + place
                    called.append(oracle.begin(comm, call.case, data, async_op=call.in_background))
        for got, check in called:
            if isinstance(got, Work):
                got.wait()
            if check:
                check()


def make_everything(comm: Communicator) -> None:
    """Let it make what it makes once, when first needed: connections with all ranks, and a thread."""
    nothing, none = np.zeros(0), [0] * comm.size
    comm.alltoallv(nothing, none, nothing.copy(), none, async_op=True).wait()


def close(parts: Iterable[Communicator | None]) -> None:
    """End those that this rank is in."""
    for part in parts:
        if part:
            part.close()
