# SPDX-License-Identifier: Apache-2.0
"""A table of measured figures, whichever program printed it. Figures are the program's own; what it does not print is
None, never computed.
"""

from dataclasses import dataclass
from enum import StrEnum

from railgauge.topo.nccl.settings.algorithm import Collective


class Program(StrEnum):
    """Who printed a table."""

    NCCL_TESTS = "nccl-tests"
    RCCL_TESTS = "rccl-tests"
    NVBANDWIDTH = "nvbandwidth"
    PERFTEST = "perftest"
    OSU = "OSU"
    MSCCLPP = "mscclpp"
    PARAM = "PARAM"
    INSPECTOR = "NCCL Inspector"
    RAILGAUGE = "railgauge run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The figures of one size, out of place or in place. `wrong`: elements, None where nothing was checked (N/A)."""

    time_us: float | None = None
    algbw_gb_per_s: float | None = None
    busbw_gb_per_s: float | None = None
    wrong: int | None = None
    largest_error: float | None = None
    """Of nccl-tests before 2.13, which print this in place of the count: the largest deviation from the result."""
    min_us: float | None = None
    max_us: float | None = None
    peak_gb_per_s: float | None = None
    """Of perftest: the fastest iterations; `algbw_gb_per_s` is the average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One size in bytes, or one pair of a matrix (nvbandwidth); `in_place` is None where only one was measured.

    count: elements, where the program prints them.
    """

    size: int
    out_of_place: Measurement
    in_place: Measurement | None = None
    dtype: str = ""
    redop: str = ""
    root: int | None = None
    count: int | None = None
    source: str = ""
    target: str = ""
    """Of a matrix: CPU0, GPU3; its sizes are 0, since nvbandwidth does not print them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankDevice:
    """A rank and its GPU, as a heading names them ("Using devices")."""

    rank: int
    host: str
    device: int | None
    bus_id: str
    gpu: str
    """The product's name, e.g. NVIDIA H100 80GB HBM3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTable:
    """Rows in the order of the program.

    `test` is the program's own name of what it measured (all_reduce_perf, device_to_device_memcpy_read_ce,
    ib_write_bw); `collective` is None for what is no collective. `ranks` and `nodes` are 0 where that is unknown.
    """

    program: Program
    release: str
    """Of the program, "" if it does not say."""
    library: str
    """Release of NCCL or RCCL, e.g. 2.27.5, "" if it does not say."""
    test: str
    collective: Collective | None
    ranks: int
    nodes: int
    devices: tuple[RankDevice, ...] = ()
    per_thread: int | None = None
    """GPUs that one thread drives (nccl-tests -g)."""
    symmetric: bool = False
    """Whether the buffers are in symmetric windows (nccl-tests -R 2), where the command line is known."""
    zero_cta: bool = False
    """Whether copy engines were to move the data (nccl-tests -x 2), where the command line is known."""
    iterations: int | None = None
    warmup: int | None = None
    checked: bool | None = None
    """Whether the data was verified."""
    average_busbw_gb_per_s: float | None = None
    line: int = 0
    """Where it begins in its file, 1-based."""
    rows: tuple[TableRow, ...]
    complete: bool = False
    """Whether the program printed its end; a run that was killed, or a paste that was cut, has none."""
    out_of_bounds: int | None = None
    """Wrong results of the whole table, as nccl-tests counts them below it."""
    cpu_time: bool = False
    """Whether the times are what the call took on the CPU (nccl-tests -C): then bandwidths mean nothing."""
    copies: int = 1
    """How many processes printed this table at once, each alone: those of mpirun, where nccl-tests is without MPI."""
    directions: int = 1
    """How many directions a bandwidth sums: 2 of perftest -b, osu_bibw and the totals of nvbandwidth."""
    sizes_are_shares: bool = False
    """Whether sizes are of one rank's share, where nccl-tests counts those of all ranks."""
    gpu_memory: bool | None = None
    """Whether the buffers are in GPU memory; None where that is unknown."""
    nic: str = ""
    """The RDMA device of perftest, e.g. mlx5_0."""
    qps: int | None = None
    sum_gb_per_s: float | None = None
    """Of a matrix."""
    detail: str = ""
    """The program's heading of this table, where a test prints several."""
    left_out: int = 0
    """Rows beyond the most that are kept."""
    groups: int = 1
    """Communicators that ran the test at once (NCCL_TESTS_SPLIT); `ranks` and `nodes` are those of the first."""
