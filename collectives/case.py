# SPDX-License-Identifier: Apache-2.0
"""What a row of a run measures: a collective, its count and type, and its operator or root."""

from dataclasses import dataclass

from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.operation import REDUCING, ROOTED, bytes_of, extent
from railgauge.topo.nccl.settings.algorithm import Collective


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationCase:
    """One operation; `count` is NCCL's (`operation.extent`)."""

    collective: Collective
    count: int
    dtype: Dtype
    op: Redop
    root: int

    def bytes(self, ranks: int) -> int:
        """As nccl-tests counts them."""
        return bytes_of(self.collective, self.count, self.dtype.bytes, ranks)

    def lies(self, rank: int, ranks: int, *, in_place: bool) -> tuple[tuple[bool, int], tuple[bool, int]]:
        """Where a rank's source and destination are: whether the source is in the destination's array, and at which
        element.
        """
        if not in_place:
            return (False, 0), (True, 0)
        where = extent(self.collective, self.count, rank, ranks, self.root)
        return (True, where.source_at), (True, where.destination_at)

    def __str__(self) -> str:
        """For messages: `float sum`, `int8 from root 3`."""
        root = f" root {self.root}" if self.collective in ROOTED else ""
        return f"{self.dtype.label}{f' {self.op.label}' if self.collective in REDUCING else ''}{root}"
