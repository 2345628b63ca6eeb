# SPDX-License-Identifier: Apache-2.0
"""The NVLink domain of several hosts that NCCL takes a GPU to be part of (MNNVL: GB200 and GB300 NVL72).

`fillInfo` (src/init.cc) asks NVML, `ncclMnnvlCheck` (src/mnnvl.cc, from NCCL 2.21 on) compares: GPUs of one cluster and
clique whose registration is completed. A cluster of zeros is a fabric within one host.
"""

from railgauge.topo.facts.sources.nvml import NvlinkFabric
from railgauge.topo.nccl.settings.mnnvl import BY_RACK, DEFAULT, Mnnvl

REGISTERED = 3  # nvmlGpuFabricState_t: completed
NO_CLUSTER = "0"


def domain_of(fabric: NvlinkFabric | None, mnnvl: Mnnvl = DEFAULT) -> str:
    """The domain as `cluster/clique`, the cluster in hex; "" without one. GPUs of equal ones reach each other.

    Cliques by rack are unknown here: "" too.
    """
    if fabric is None or fabric.state != REGISTERED or mnnvl.clique == BY_RACK:
        return ""
    cluster = mnnvl.cluster or fabric.cluster or ""
    clique = fabric.clique if mnnvl.clique is None else mnnvl.clique
    return f"{cluster}/{clique}" if cluster.strip(NO_CLUSTER) else ""
