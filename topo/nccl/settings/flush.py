# SPDX-License-Identifier: Apache-2.0
"""Whether settings decide, for any GPU, that data written by NICs is flushed.

NCCL's functions: `ncclTopoNeedFlush` (NCCL_NET_FORCE_FLUSH) and `ncclIbIflush` (NCCL_GDR_FLUSH_DISABLE).
"""

from collections.abc import Mapping

from railgauge.topo.nccl.settings.parameter import parameter


def read_flush(settings: Mapping[str, str]) -> bool | None:
    """False: never, True: always; None: depends on the machine."""
    if parameter(settings, "NCCL_GDR_FLUSH_DISABLE", 0):
        return False
    return True if parameter(settings, "NCCL_NET_FORCE_FLUSH", 0) else None
