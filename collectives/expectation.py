# SPDX-License-Identifier: Apache-2.0
"""The expected contents of a rank's destination after each collective, as pieces of the ranks' inputs.

Counts are NCCL's (`operation.extent`).
"""

from dataclasses import dataclass

from railgauge.topo.nccl.settings.algorithm import Collective


@dataclass(frozen=True, slots=True)
class Piece:
    """Elements `offset` to `offset + count` of a destination, and their origin."""

    offset: int
    count: int
    rank: int | None
    """Copied from this rank's input; None: reduced over the inputs of all."""
    index: int
    """Index of the first of them in the input."""


def expected(collective: Collective, *, rank: int, ranks: int, count: int, root: int = 0) -> list[Piece]:
    """The expected contents of `rank`'s destination; nothing if the collective does not write it.

    sendrecv is nccl-tests': each rank sends to the next and receives from the previous one.
    """
    everybody = [Piece(offset=r * count, count=count, rank=r, index=0) for r in range(ranks)]
    match collective:
        case Collective.ALL_REDUCE:
            return [Piece(offset=0, count=count, rank=None, index=0)]
        case Collective.REDUCE:
            return [Piece(offset=0, count=count, rank=None, index=0)] if rank == root else []
        case Collective.REDUCE_SCATTER:
            return [Piece(offset=0, count=count, rank=None, index=rank * count)]
        case Collective.ALL_GATHER:
            return everybody
        case Collective.GATHER:
            return everybody if rank == root else []
        case Collective.ALL_TO_ALL:
            return [Piece(offset=r * count, count=count, rank=r, index=rank * count) for r in range(ranks)]
        case Collective.BROADCAST:
            return [Piece(offset=0, count=count, rank=root, index=0)]
        case Collective.SCATTER:
            return [Piece(offset=0, count=count, rank=root, index=rank * count)]
        case Collective.SEND_RECV:
            return [Piece(offset=0, count=count, rank=(rank - 1) % ranks, index=0)]
