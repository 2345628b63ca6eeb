# SPDX-License-Identifier: Apache-2.0
"""How many blocks of a GPU, and so how many of its multiprocessors, a communicator uses: what is left computes beside
it.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.parameter import parameter

NO_LIMIT = 1 << 16
"""More than any GPU has."""
MOST_BLOCKS = 128
"""That a kernel can have (`kMostBlocks`, collectives/native/kernels/arguments.h)."""
BESIDE_COMPUTATION = 64
"""How many leave a program's own kernels enough. Ten matrix products behind forty all_reduces of 64 MiB on another
stream took 22 to 24 ms in some turns and 31 to 36 in others with 96 blocks (two H200s) and 128 (two H100s); with 64
(two H200s) 22 to 26, NCCL 23 to 24 (two H100s). The all_reduces alone took 8.9 ms with 64, 8.6 with 96
(benchmarks/torch/results/overlap.jsonl).
"""


class BlockLimits(NamedTuple):
    """How many blocks staging buffers are made for: `least`, where the engine would take fewer, and `most` of any
    kernel. An operation that fills fewer has fewer.
    """

    least: int = 0
    most: int = NO_LIMIT

    def of(self, blocks: int) -> int:
        """What becomes of the engine's own number; `most` counts more than `least`."""
        return min(max(blocks, self.least), self.most)

    def below(self, max_ctas: int | None) -> "BlockLimits":
        """With an option, None without it.

        Raises:
            UsageError: it is not a whole number from 1.
        """
        if max_ctas is None:
            return self
        if not isinstance(max_ctas, int) or isinstance(max_ctas, bool) or max_ctas < 1:
            raise UsageError(f"max_ctas is {max_ctas!r:.40}: expected a whole number of blocks, 1 or more")
        return self._replace(most=min(self.most, max_ctas))


ANY_NUMBER = BlockLimits()


def block_limits(settings: Mapping[str, str]) -> BlockLimits:
    """Those of one rank: NCCL_MIN_CTAS, NCCL_MIN_NCHANNELS, NCCL_MAX_CTAS and NCCL_MAX_NCHANNELS, or the older names of
    channels, which are blocks on a GPU.

    As in NCCL, a number of CTAs below 1 has no effect (`NCCL_CONFIG` of src/init.cc), fewer channels at most than one
    are one, and what is to be the fewest counts more than NCCL_MAX_NCHANNELS and less than NCCL_MAX_CTAS
    (`ncclTopoPostset`, src/graph/connect.cc).
    """
    channels = parameter(settings, "NCCL_MAX_NCHANNELS", parameter(settings, "NCCL_MAX_NRINGS", NO_LIMIT))
    few = parameter(settings, "NCCL_MIN_NCHANNELS", parameter(settings, "NCCL_MIN_NRINGS", 0))
    least = min(MOST_BLOCKS, max(0, few, parameter(settings, "NCCL_MIN_CTAS", 0)))
    ctas = parameter(settings, "NCCL_MAX_CTAS", 0)
    return BlockLimits(least, min(max(1, channels, least), ctas if ctas > 0 else NO_LIMIT))


def beside_computation(settings: Mapping[str, str]) -> int | None:
    """The limit of a program that computes meanwhile; None: the settings have one."""
    return BESIDE_COMPUTATION if block_limits(settings) == ANY_NUMBER else None


def of_all(limits: Iterable[Iterable[int]]) -> BlockLimits:
    """Those of a communicator, from all of its ranks': the greatest `least`, and the least `most`."""
    fewest, most = zip(*limits, strict=True)
    return BlockLimits(max(fewest), min(most))
