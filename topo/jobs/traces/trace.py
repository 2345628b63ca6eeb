# SPDX-License-Identifier: Apache-2.0
"""A job's operations as its traces have them: the collectives of each group of ranks, in order."""

from dataclasses import dataclass, field

from railgauge.topo.errors import InputError
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.values.dtype_bytes import DTYPE_BYTES

MOST_OPERATIONS = 1 << 20
"""Of all files together."""
MOST_ELEMENTS = 1 << 53
MOST_RANKS = 1 << 20
Source = int | str
"""What called: a rank of the job, or the file or process where its rank is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedGroup:
    """A process group or communicator: its name in the trace, and its ranks in the job; () if only its size is known.
    The same order of ranks as in the group.
    """

    name: str
    size: int
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedOperation:
    """One operation of a group.

    `elements`: as nccl-tests counts them, what a rank sends or receives in all. `dtype` and `redop` have nccl-tests'
    names, `root` is a rank of the group. `number`: equal on all ranks of the group, and growing. `step`: of the
    training loop, None if the trace has no steps. `measured_us`: None if the trace has no time of it.
    """

    collective: Collective
    elements: int
    dtype: str
    group: TracedGroup
    number: int
    redop: str = "sum"
    root: int = 0
    step: int | None = None
    measured_us: float | None = None

    @property
    def bytes(self) -> int:
        """As nccl-tests counts them."""
        return self.elements * DTYPE_BYTES[self.dtype]


@dataclass(slots=True)
class Trace:
    """What some files have: by source its operations in their order. `kinds`: the
    formats that were read. `left_out`: why operations are not in it, and how many. `world`: ranks of the job, 0 if the
    files do not say.
    """

    by_source: dict[Source, list[TracedOperation]] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)
    left_out: dict[str, int] = field(default_factory=dict)
    world: int = 0
    count: int = 0

    def add(self, source: Source, operation: TracedOperation, path: str) -> None:
        """Add an operation; InputError beyond MOST_OPERATIONS."""
        self.by_source.setdefault(source, []).append(operation)
        self.count += 1
        if self.count > MOST_OPERATIONS:
            raise InputError(f"more than {MOST_OPERATIONS} operations: give the traces of fewer steps or ranks", path)

    def leave_out(self, why: str) -> None:
        """Count an operation that cannot be billed."""
        self.left_out[why] = self.left_out.get(why, 0) + 1
