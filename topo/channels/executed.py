# SPDX-License-Identifier: Apache-2.0
"""The channels that run, of those found: NCCL's doublings and limits (`ncclTopoPostset`, src/graph/connect.cc).

Every channel runs twice, once with each tree of the pair; on GPUs from sm 90 on, fast channels within a node that leave
it run twice as often again; NCCL_MAX_NCHANNELS cuts, and NCCL_MIN_NCHANNELS repeats from the first one on.
"""

from railgauge.topo.nccl.settings.steering import NCCL_CHANNELS, Steering

DOUBLED_FROM_SM = 90
DOUBLED_ABOVE = 45.0  # GB/s of a ring within a node
DOUBLED_BELOW = 16  # channels


def executed(
    found: int, steering: Steering, *, nodes: int, least_sm: int | None, gb_per_s_intra: float
) -> tuple[int, ...]:
    """For each channel that runs, its number: the `found` with their first trees, then the `found` with their second.

    `least_sm`: the lowest compute capability of all GPUs, None for ranks on host memory.
    """
    numbers = list(range(min(2 * found, NCCL_CHANNELS)))
    fast = least_sm is not None and least_sm >= DOUBLED_FROM_SM and gb_per_s_intra > DOUBLED_ABOVE
    if nodes > 1 and fast and len(numbers) < DOUBLED_BELOW:
        numbers *= 2
    numbers = numbers[: steering.max_channels]
    length = len(numbers)
    return tuple(numbers[i % length] for i in range(max(length, steering.min_channels)))
