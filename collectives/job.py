# SPDX-License-Identifier: Apache-2.0
"""What a run was asked to do."""

import hashlib
from dataclasses import dataclass

from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.engine import Engine
from railgauge.collectives.operation import REDUCING, ROOTED
from railgauge.topo.jobs.traces.trace import TracedOperation
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.transports.fault import Fault

TRACE = "trace"
"""In place of the collective, where operations are replayed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """The flags of `railgauge run`, read and checked. Sizes in bytes, times in seconds."""

    collective: Collective
    sizes: tuple[int, ...]
    dtypes: tuple[Dtype, ...]
    redops: tuple[Redop, ...]
    root: int
    """-1: every rank in turn."""
    begin: int
    end: int
    step: int
    factor: float
    iterations: int
    warmup: int
    aggregate: int
    cycles: int
    check: int
    average: int
    cpu_time: bool
    threads: int
    ranks_per_thread: int
    timeout_s: float
    graph_file: str | None
    fault: Fault | None
    min_busbw: float | None
    expect_transport: str | None
    json: bool
    device: str = "cpu"
    """auto, cpu or cuda (collectives/device.py)."""
    replays: int = 0
    """How often a CUDA graph of all iterations is run; 0: no graph."""
    blocking: bool = False
    """Whether the host waits for each operation on a GPU, and times it."""
    tune: bool = False
    """Whether every algorithm is measured for the tuning file, instead of rows."""
    register: int = 0
    """-R. More than 0: the communicator allocates buffers (`memory`), so that ranks work on each other's."""
    engine: Engine = Engine.RAILGAUGE
    counters: bool = False
    """Whether the counters of all links are read before and after; rank 0's value is used."""
    record: bool = False
    """Whether the flight record is written at the end; rank 0's value is used."""

    trace: tuple[TracedOperation, ...] = ()
    """The operations to replay instead of the scan."""

    save_capture: str | None = None
    """The file in which the first rank of each node saves what it read of the node."""

    @property
    def name(self) -> str:
        """What is run: the collective, or a trace."""
        return TRACE if self.trace else self.collective

    def agreed(self) -> dict[str, str]:
        """The options, by flag and as text, that must be the same on every rank: the operations and their number, not
        the output.
        """
        return {
            "the collective": self.name,
            "-b": str(self.begin),
            "-e": str(self.end),
            "-f": f"{self.factor:g}",
            **({} if self.factor > 1 else {"-i": str(self.step)}),
            "-d": ",".join(dtype.label for dtype in self.dtypes),
            "-o": ",".join(redop.label for redop in self.redops),
            "-r": str(self.root),
            "-n": str(self.iterations),
            "-w": str(self.warmup),
            "-m": str(self.aggregate),
            "-N": str(self.cycles),
            "-G": str(self.replays),
            "-z": str(int(self.blocking)),
            "--tune": str(self.tune),
            "-c": str(self.check),
            "-R": str(self.register),
            "--engine": self.engine,
            **({"--trace": _digest(self.trace)} if self.trace else {}),
            **({"--fault": str(self.fault)} if self.fault else {}),
        }

    @property
    def ranks_per_process(self) -> int:
        """Host ranks of one process: -t times -g."""
        return self.threads * self.ranks_per_thread

    def roots(self, ranks: int) -> range:
        """The roots to measure; a single ignored one if the collective has none."""
        if self.collective not in ROOTED:
            return range(1)
        return range(ranks) if self.root < 0 else range(self.root, self.root + 1)

    @property
    def operators(self) -> tuple[Redop, ...]:
        """The operators to measure; a single ignored one if the collective reduces nothing."""
        return self.redops if self.collective in REDUCING else (Redop.SUM,)


def _digest(operations: tuple[TracedOperation, ...]) -> str:
    """Equal for the same operations."""
    return hashlib.sha256("\n".join(map(repr, operations)).encode()).hexdigest()[:12]
