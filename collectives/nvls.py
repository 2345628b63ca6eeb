# SPDX-License-Identifier: Apache-2.0
"""NVLS, NCCL's name for sums by NVSwitches at multicast addresses: off unless RAILGAUGE_MULTICAST=1 on all ranks. It is
tested with simulated GPUs only, and what goes wrong with multicast can take the GPUs of a host out of service.
"""

from collections.abc import Mapping, Sequence

from railgauge._native import collectives as native
from railgauge.collectives.gpu_way import MOST_AT_ONCE, Via
from railgauge.topo.nccl.settings.parameter import parameter

OFF = "RAILGAUGE_MULTICAST is not 1"
ON_HOST = (Via.DIRECT, Via.IPC)


def why_no_nvls(settings: Mapping[str, str], device: int, not_exportable: str) -> str:
    """Why a rank's GPU does without; empty: it does not. `not_exportable`: why it can have no memory of cuMemCreate."""
    if parameter(settings, "RAILGAUGE_MULTICAST", 0) != 1:
        return OFF
    if parameter(settings, "NCCL_NVLS_ENABLE", 2) == 0:
        return "NCCL_NVLS_ENABLE=0"
    return not_exportable or native.why_no_nvls(device)


def why_none(why: Sequence[str], vias: Sequence[Sequence[Via]]) -> str:
    """Why a communicator has none, the same on all ranks; empty: it has. `why` by rank, `vias` by rank and rank."""
    for rank, reason in enumerate(why):
        if reason:
            return OFF if set(why) == {OFF} else f"rank {rank}: {reason}"
    if len(why) not in range(2, MOST_AT_ONCE + 1):
        return f"it takes 2 to {MOST_AT_ONCE} ranks"
    if not all(via in ON_HOST for a, row in enumerate(vias) for b, via in enumerate(row) if a != b):
        return "not all GPUs are of one host and map each other's memory"
    return ""
