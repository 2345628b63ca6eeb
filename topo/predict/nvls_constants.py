# SPDX-License-Identifier: Apache-2.0
"""Figures of NCCL's NVLS (NVLink multicast) by release: each row begins with the first release that has it.

Source: src/graph/tuning.cc, src/graph/search.cc, src/transport/nvls.cc, src/init.cc, src/enqueue.cc and
src/include/device.h of NCCL v2.17.1-1 to v2.30.7-1. Rows are the newest first; generations are those of nccl_constants.
"""

from typing import TypeAlias, TypeVar

Release: TypeAlias = tuple[int, int, int]
T = TypeVar("T")
Since: TypeAlias = tuple[tuple[Release, T], ...]

NEWEST: Release = (2, 30, 7)
"""The newest release that is modelled, and the one assumed where none is known."""
FIRST: Release = (2, 17, 1)
"""The first release with NVLS."""
BY_LINKS: Release = (2, 28, 3)
"""From here on NCCL's bandwidth is a share of what the GPUs' links pass (EFFICIENCY); before, 5/6 of the channels'."""
LESS_WITHOUT_OWN: Release = (2, 27, 3)
"""From here on all_gather and reduce_scatter count without what a GPU has itself."""
LEAST_SM = 90
LEAST_GPUS: Since[int] = (((2, 28, 7), 2), ((2, 18, 1), 3), (FIRST, 2))
MOST_HEADS: Since[int] = (((2, 21, 5), 32), (FIRST, 8))  # NCCL_MAX_NVLS_ARITY
LATENCY_US: Since[float] = (((2, 21, 5), 25.0), ((2, 18, 1), 23.0), (FIRST, 40.0))  # within a node
CHANNELS: Since[dict[int, int]] = (  # by generation; one node
    ((2, 27, 3), {2: 16, 3: 24}),
    ((2, 25, 1), {2: 16, 3: 32}),
    (FIRST, {2: 16, 3: 16}),
)
EFFICIENCY = {2: 0.85, 3: 0.74}  # by generation
SHARE_BEFORE = 5 / 6
# GB/s of a head that the search tries on one node, by generation, fastest first.
SPEEDS: dict[int, tuple[float, ...]] = {
    2: (60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0),
    3: (90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0),
}
CHUNK_BYTES = 128 << 10
# The chunk of an operation smaller than so many rounds of the chunk before it, one after the other.
SMALLER_CHUNKS = ((64, 64 << 10), (8, 32 << 10), (2, 16 << 10))
# What NVLS reduces (`ncclNvlsSupported`), by operator: types as nccl-tests names them. all_gather takes any.
INTEGERS = frozenset({"int32", "uint32", "int64", "uint64"})
HALVES = frozenset({"half", "bfloat16"})
REDUCED: dict[str, frozenset[str]] = {
    "sum": INTEGERS | HALVES | {"float", "double"},
    "min": INTEGERS | HALVES,
    "max": INTEGERS | HALVES,
}


def since(rows: Since[T], release: Release) -> T:
    """The row of a release, FIRST or newer."""
    return next(value for first, value in rows if release >= first)
