# SPDX-License-Identifier: Apache-2.0
"""What a run was asked to do."""

from dataclasses import dataclass

from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.engine import Engine
from railgauge.collectives.operation import REDUCING, ROOTED
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.transports.fault import Fault


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
    """How often a CUDA graph of all iterations is run; 0: none is made."""
    blocking: bool = False
    """Whether the host waits for each operation on a GPU, and times it."""
    tune: bool = False
    """Whether every algorithm is measured for the tuning file, in place of rows."""
    register: int = 0
    """-R. More than 0: buffers are of the communicator (`memory`), so that ranks work on each other's."""
    engine: Engine = Engine.RAILGAUGE
    counters: bool = False
    """Whether the counters of all links are read before and after; what rank 0 was asked for counts, here too."""
    record: bool = False
    """Whether the flight record is wanted at the end; what rank 0 was asked for counts."""

    def agreed(self) -> dict[str, str]:
        """By flag, as text, what every rank has to be asked alike: the operations and their number, not who reports."""
        return {
            "the collective": self.collective,
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
            **({"--fault": str(self.fault)} if self.fault else {}),
        }

    @property
    def ranks_per_process(self) -> int:
        """Host ranks of one process: -t times -g."""
        return self.threads * self.ranks_per_thread

    def roots(self, ranks: int) -> range:
        """The roots to measure; one that does not count where the collective has none."""
        if self.collective not in ROOTED:
            return range(1)
        return range(ranks) if self.root < 0 else range(self.root, self.root + 1)

    @property
    def operators(self) -> tuple[Redop, ...]:
        """The operators to measure; one that does not count where the collective reduces nothing."""
        return self.redops if self.collective in REDUCING else (Redop.SUM,)
