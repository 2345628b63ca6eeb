# SPDX-License-Identifier: Apache-2.0
"""The inputs and outputs of a collective: the native engine's numbers, and how many elements each rank's buffers
hold.
"""

from dataclasses import dataclass

from railgauge.topo.nccl.settings.algorithm import Collective

NUMBERS = {
    collective: number
    for number, collective in enumerate(
        (
            Collective.ALL_REDUCE,
            Collective.ALL_GATHER,
            Collective.REDUCE_SCATTER,
            Collective.BROADCAST,
            Collective.REDUCE,
            Collective.ALL_TO_ALL,
            Collective.GATHER,
            Collective.SCATTER,
            Collective.SEND_RECV,
        )
    )
}
"""The numbers of the native engine (collectives/native/operation.h lists the same names in this order)."""
REDUCING = (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.REDUCE)
ROOTED = (Collective.BROADCAST, Collective.REDUCE, Collective.GATHER, Collective.SCATTER)
IN_PLACE = frozenset(NUMBERS) - {Collective.ALL_TO_ALL, Collective.SEND_RECV}
"""Collectives that can be run in place."""
WHOLE = (Collective.ALL_REDUCE, Collective.BROADCAST, Collective.REDUCE, Collective.SEND_RECV)
"""Collectives whose count is that of all elements; the others' is what one rank has for one other."""
ALIGNED = (Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_TO_ALL)
ALIGN_BYTES = 16
"""nccl-tests makes each rank's part of these a multiple of so many bytes (AllGatherGetCollByteCount and others)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The number of elements of one rank's source and destination, and their offsets in place."""

    source: int
    destination: int
    source_at: int = 0
    destination_at: int = 0


def extent(collective: Collective, count: int, rank: int, ranks: int, root: int) -> Extent:
    """The buffers of one rank for NCCL's `count`; a rank that sends or receives nothing has 0."""
    whole, is_root = ranks * count, rank == root
    match collective:
        case Collective.ALL_GATHER:
            return Extent(source=count, destination=whole, source_at=rank * count)
        case Collective.REDUCE_SCATTER:
            return Extent(source=whole, destination=count, destination_at=rank * count)
        case Collective.ALL_TO_ALL:
            return Extent(source=whole, destination=whole)
        case Collective.BROADCAST:
            return Extent(source=count if is_root else 0, destination=count)
        case Collective.REDUCE:
            return Extent(source=count, destination=count if is_root else 0)
        case Collective.GATHER:
            at = rank * count if is_root else 0
            return Extent(source=count, destination=whole if is_root else 0, source_at=at)
        case Collective.SCATTER:
            at = rank * count if is_root else 0
            return Extent(source=whole if is_root else 0, destination=count, destination_at=at)
    return Extent(source=count, destination=count)


def count_of(collective: Collective, size: int, element_bytes: int, ranks: int) -> int:
    """NCCL's count for nccl-tests' size in bytes: rounded down to equal parts if there are parts."""
    elements = size // element_bytes
    if collective in WHOLE:
        return elements
    parts = elements // ranks
    if collective not in ALIGNED:
        return parts
    step = max(1, ALIGN_BYTES // element_bytes)
    return parts // step * step


def bytes_of(collective: Collective, count: int, element_bytes: int, ranks: int) -> int:
    """The bytes that bandwidth is counted by (nccl-tests' size column): all that a rank sends or receives."""
    return count * element_bytes * (1 if collective in WHOLE else ranks)
