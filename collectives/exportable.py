# SPDX-License-Identifier: Apache-2.0
"""Which memory ranks of one host lend each other: memory that is mapped through descriptors, or cudaMalloc's by CUDA
IPC, which takes a common pid and IPC namespace.
"""

from collections.abc import Mapping

from railgauge._native import collectives as native
from railgauge.topo.nccl.settings.parameter import parameter


def why_not_exportable(settings: Mapping[str, str], device: int) -> str:
    """Why a GPU's memory is mapped by CUDA IPC; empty: it is mapped through descriptors."""
    if parameter(settings, "NCCL_CUMEM_ENABLE", -2) == 0:
        return "NCCL_CUMEM_ENABLE=0"
    return native.why_not_exportable(device)
