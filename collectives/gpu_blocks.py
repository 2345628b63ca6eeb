# SPDX-License-Identifier: Apache-2.0
"""How many blocks of a GPU, and so how many of its multiprocessors, a communicator uses at most: what is left computes
beside it.
"""

from collections.abc import Mapping

from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.parameter import parameter

NO_LIMIT = 1 << 16
"""More than any GPU has."""


def most_blocks(settings: Mapping[str, str], max_ctas: int | None = None) -> int:
    """The limit of one rank: the least of `max_ctas`, NCCL_MAX_CTAS, and NCCL_MAX_NCHANNELS or its older name, whose
    channels are blocks on a GPU; NO_LIMIT without them. The least of all ranks counts.

    As in NCCL, NCCL_MAX_CTAS has no effect below 1 (`NCCL_CONFIG` of src/init.cc), and fewer channels than one are one
    (`ncclMaxNchannels`, src/graph/connect.cc).

    Raises:
        UsageError: `max_ctas` is not a whole number from 1.
    """
    if max_ctas is not None and (not isinstance(max_ctas, int) or isinstance(max_ctas, bool) or max_ctas < 1):
        raise UsageError(f"max_ctas is {max_ctas!r:.40}: expected a whole number of blocks, 1 or more")
    channels = parameter(settings, "NCCL_MAX_NCHANNELS", parameter(settings, "NCCL_MAX_NRINGS", NO_LIMIT))
    ctas = parameter(settings, "NCCL_MAX_CTAS", 0)
    return min(max(1, channels), ctas if ctas > 0 else NO_LIMIT, max_ctas or NO_LIMIT)
