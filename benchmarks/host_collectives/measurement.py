# SPDX-License-Identifier: Apache-2.0
"""One sample: the processes of a program started, its times read, wrong data an error."""

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator

from benchmarks.host_collectives.collectives import COLLECTIVES

TIMEOUT_S = 200
MISSING = "no collective"
"""A program's message on stderr, before it ends, if it does not have it."""


class MeasurementError(Exception):
    """A program failed."""


class WrongDataError(MeasurementError):
    """A program's result is wrong."""


class MissingError(MeasurementError):
    """A program does not have this collective, or does not finish it."""


@dataclasses.dataclass(frozen=True)
class Job:
    """What to run; `size` in the bytes of nccl-tests. With `flip` a bit is damaged, and the program must detect it."""

    collective: str
    size: int
    ranks: int
    iterations: int
    warmup: int
    flip: bool = False

    @property
    def count(self) -> int:
        """NCCL's count of float32."""
        return COLLECTIVES[self.collective].count(self.size, self.ranks)


@dataclasses.dataclass(frozen=True)
class Times:
    """Mean microseconds of one operation, None where the program has no such placement; `facts` are for the record."""

    out_of_place_us: float | None
    in_place_us: float | None
    facts: dict[str, object] = dataclasses.field(default_factory=dict)


def takes_everything(collective: str, size: int) -> str | None:
    """Why a program is not measured with this collective and size: none."""
    return None


@dataclasses.dataclass(frozen=True)
class Peer:
    """A program; `commands` gives those of its processes, of which the first prints the result.

    The path given to it is that of an empty folder which lasts as long as the sample.
    """

    name: str
    version: str
    commands: Callable[[Job, pathlib.Path], list[list[str]]]
    read: Callable[[str, Job], Times]
    env: dict[str, str] = dataclasses.field(default_factory=dict)
    why_not: Callable[[str, int], str | None] = takes_everything
    grace_s: float = 10
    """How long the other processes may go on after the first has ended."""

    def measure(self, job: Job, timeout_s: float = TIMEOUT_S) -> Times:
        """Run it once; wrong data is an error."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            commands = self.commands(job, folder)
            shown = f"{self.name}: {' '.join(commands[0])}"
            flip = {"BENCH_FLIP": "1"} if job.flip else {}
            codes = run(commands, os.environ | self.env | flip, folder, timeout_s, self.grace_s)
            said = "".join((folder / f"stderr{i}").read_text(errors="replace") for i in range(len(codes)))
            answer = (folder / "stdout0").read_text(errors="replace")
        if any(codes) and MISSING in said:
            raise MissingError(next(line for line in said.splitlines() if MISSING in line))
        if any(codes):
            wrong = "elements wrong" in said + answer
            raise (WrongDataError if wrong else MeasurementError)(f"{shown}: exit status {codes}\n{said}{answer}")
        try:
            return self.read(answer, job)
        except (ValueError, KeyError, WrongDataError) as error:
            kind = WrongDataError if isinstance(error, WrongDataError) else MeasurementError
            raise kind(f"{shown}: {error!r}\n{answer}") from error


def run(
    commands: list[list[str]], env: dict[str, str], folder: pathlib.Path, timeout_s: float, grace_s: float
) -> list[int]:
    """Run all at once, each with stdoutN and stderrN in the folder; their exit statuses, 0 for one that was ended.

    The first failure ends all, and so does the end of the first process, after the grace.
    """
    with contextlib.ExitStack() as stack:
        first, *others = (stack.enter_context(started(each, env, folder, i)) for i, each in enumerate(commands))
        if not wait(first, others, timeout_s):
            raise MissingError(f"not finished within {timeout_s:g} s: {' '.join(commands[0])}")
        for process in others if first.returncode == 0 else ():
            wait(process, others, grace_s)
        return [process.returncode or 0 for process in (first, *others)]


def wait(process: subprocess.Popen[bytes], others: list[subprocess.Popen[bytes]], seconds: float) -> bool:
    """Whether the process ends in time, or one of the others fails."""
    deadline = time.monotonic() + seconds
    while process.poll() is None and not any(other.poll() for other in others):
        if time.monotonic() >= deadline:
            return False
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.05)
    return True


@contextlib.contextmanager
def started(
    command: list[str], env: dict[str, str], folder: pathlib.Path, number: int
) -> Iterator[subprocess.Popen[bytes]]:
    """A process, ended with all that it started in its session."""
    with (folder / f"stdout{number}").open("wb") as out, (folder / f"stderr{number}").open("wb") as err:
        process = subprocess.Popen(command, env=env, stdout=out, stderr=err, start_new_session=True)
    try:
        yield process
    finally:
        for kind in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, kind)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=5)


def read_line(answer: str, job: Job) -> Times:
    """Read what the programs in this folder print: one JSON line."""
    result = json.loads(answer)
    if result["wrong"] != 0 or result["ranks"] != job.ranks:
        raise WrongDataError(f"wrong data or number of ranks: {result}")
    return Times(result["out_of_place_us"], result["in_place_us"])


def read_run(answer: str, job: Job) -> Times:
    """Read a railgauge/run/1 document with one row."""
    document = json.loads(answer)
    (row,) = document["rows"]
    placed = [row[placement] for placement in ("out_of_place", "in_place")]
    if document["status"] != "ok" or document["ranks"] != job.ranks or any(p and p["wrong"] for p in placed):
        raise WrongDataError("wrong data or number of ranks")
    if row["count"] != job.count:
        raise ValueError(f"{job.size} bytes are {row['count']} elements there, but {job.count} for the others")
    facts = {key: row.get(key) for key in ("algorithm", "protocol", "channels", "predicted_busbw_gb_per_s")}
    apart, in_place = (p and p["time_us"] for p in placed)
    return Times(apart, in_place, facts)
