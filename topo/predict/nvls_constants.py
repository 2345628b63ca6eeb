# SPDX-License-Identifier: Apache-2.0
"""Figures of NCCL's NVLS (NVLink multicast) and NVLS tree by release.

Source: src/graph/tuning.cc, src/graph/search.cc, src/transport/nvls.cc, src/init.cc, src/enqueue.cc and
src/include/device.h of NCCL v2.17.1-1 to v2.30.7-1. Generations are those of nccl_constants: 2 Hopper, 3 Blackwell.
"""

from railgauge.topo.predict.release import Release, Since

FIRST: Release = (2, 17, 1)
"""The first release with NVLS."""
TREE_IN: Since[bool] = (((2, 21, 5), True), ((2, 20, 3), False), ((2, 18, 1), True), (FIRST, False))
"""Whether there is NVLS over several nodes: 2.20 has it on one node only."""
BY_LINKS: Release = (2, 28, 3)
"""From here on NCCL's bandwidth is a share of what the GPUs' links pass (EFFICIENCY); before, 5/6 of the channels'."""
LESS_WITHOUT_OWN: Release = (2, 27, 3)
"""From here on all_gather and reduce_scatter count without what a GPU has itself."""
AS_TREE: Release = (2, 30, 7)
"""From here on NVLS tree on Blackwell beside x86 reaches less at some sizes, as a tree does."""
LEAST_SM = 90
LEAST_HEADS = 2
LEAST_GPUS: Since[int] = (((2, 28, 7), 2), ((2, 18, 1), 3), (FIRST, 2))
MOST_HEADS: Since[int] = (((2, 21, 5), 32), (FIRST, 8))  # NCCL_MAX_NVLS_ARITY
WITHIN_US: Since[float] = (((2, 21, 5), 25.0), ((2, 18, 1), 23.0), (FIRST, 40.0))
NET_US = 18.0  # NVLS over a network that reduces
TREE_NET_US: Since[float] = (((2, 28, 9), 20.9), ((2, 19, 3), 14.0), (FIRST, 19.0))  # a step of the tree
CHANNELS: Since[dict[int, int]] = (  # by generation; one node
    ((2, 27, 3), {2: 16, 3: 24}),
    ((2, 25, 1), {2: 16, 3: 32}),
    (FIRST, {2: 16, 3: 16}),
)
CHANNELS_OF_NODES: Since[dict[int, int]] = (((2, 25, 1), {2: 16, 3: 32}), (FIRST, {2: 16, 3: 16}))
EFFICIENCY = {2: 0.85, 3: 0.74}  # by generation
SHARE_BEFORE = 5 / 6
# GB/s of a head of a tree at most, by generation; for 2 nodes, and for more (`perChMaxNVLSTreeBws`).
TREE_MOST: Since[dict[int, tuple[float, float]]] = (
    ((2, 30, 3), {2: (57.7, 45.5), 3: (96.0, 80.0)}),
    ((2, 28, 9), {2: (57.7, 45.5), 3: (96.0, 43.8)}),
    (BY_LINKS, {2: (57.7, 45.5), 3: (96.0, 43.1)}),
)
# GB/s of a head that the search tries, by generation, fastest first: on one node, and on several.
SPEEDS: dict[int, tuple[float, ...]] = {
    2: (60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0),
    3: (90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0),
}
SPEEDS_OF_NODES: dict[int, tuple[float, ...]] = {
    2: (48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12),
    3: (96.0, 86.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24),
}
STOP_AT = 0.49  # the search ends where the next speed is less than this share of the best one's
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
