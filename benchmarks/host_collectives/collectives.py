# SPDX-License-Identifier: Apache-2.0
"""What each collective reads and writes, and how nccl-tests counts its bytes; collectives.h has the same table."""

import dataclasses

FLOAT_BYTES = 4
ALIGNED = 4
"""Pieces are whole multiples of 16 bytes (nccl-tests, AllGatherGetCollByteCount and its siblings)."""
ROOT = 0


@dataclasses.dataclass(frozen=True)
class Collective:
    """An input or output is one piece, or one for each rank; with `at_root` only the root has it."""

    name: str
    input_per_rank: bool = False
    output_per_rank: bool = False
    input_at_root: bool = False
    output_at_root: bool = False
    sums: bool = False

    @property
    def in_pieces(self) -> bool:
        """Whether the bytes of nccl-tests are those of all ranks' pieces."""
        return self.input_per_rank or self.output_per_rank

    def count(self, size: int, ranks: int) -> int:
        """NCCL's count of float32 for this many bytes of nccl-tests; 0 where there is no such operation."""
        floats = size // FLOAT_BYTES
        return floats // ranks // ALIGNED * ALIGNED if self.in_pieces else floats

    def factor(self, ranks: int) -> float:
        """Bus bandwidth over bytes per time (nccl-tests, doc/PERFORMANCE.md)."""
        if self.name == "all_reduce":
            return 2 * (ranks - 1) / ranks
        return (ranks - 1) / ranks if self.in_pieces else 1.0


COLLECTIVES = {
    each.name: each
    for each in (
        Collective("all_reduce", sums=True),
        Collective("all_gather", output_per_rank=True),
        Collective("reduce_scatter", input_per_rank=True, sums=True),
        Collective("broadcast", input_at_root=True),
        Collective("alltoall", input_per_rank=True, output_per_rank=True),
        Collective("reduce", output_at_root=True, sums=True),
        Collective("gather", output_per_rank=True, output_at_root=True),
        Collective("scatter", input_per_rank=True, input_at_root=True),
    )
}
