# SPDX-License-Identifier: Apache-2.0
"""Collectives by the GPUs' copy engines (NCCL 2.28 on): which NCCL runs so. Their time is not modelled.

NCCL copies each rank's part into the symmetric windows of all others by cudaMemcpy, without thread blocks (`taskAppend`
of src/enqueue.cc, `ncclCeImplemented` and `ncclCeAvailable` of src/ce_coll.cc, v2.28.3-1 to v2.30.7-1):

- where it is asked to (NCCL_CTA_POLICY=ZERO, -x 2 of nccl-tests): all_gather, alltoall, gather and scatter of one node;
  from 2.30.3 on between GPUs with NVLinks alone; from 2.30.7 on all_gather and alltoall of several nodes too.
- unasked from 2.29.2 on: an all_gather on Blackwell of more than 8 Mi elements a rank (NCCL_SYM_CE_THRESHOLD).

No figures of such a run were at hand. NVIDIA's user guide says that the policy may cost performance, one thread that it
did at all sizes (nccl#2169, alltoall on 4 H100, 2.28.3). NCCL has no figure of its own: it does not compare.
"""

from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.release import Release
from railgauge.topo.values.dtype_bytes import DTYPE_BYTES

FIRST: Release = (2, 28, 3)
UNASKED: Release = (2, 29, 2)
NVLINK_ALONE: Release = (2, 30, 3)
OF_NODES: Release = (2, 30, 7)
MOVED = (Collective.ALL_GATHER, Collective.ALL_TO_ALL, Collective.GATHER, Collective.SCATTER)
MOVED_BETWEEN_NODES = (Collective.ALL_GATHER, Collective.ALL_TO_ALL)
BLACKWELL = 100


def why(plan: NodePlan, collective: Collective, size: int) -> str:
    """Why NCCL takes copy engines for a size in bytes; "" where it does not."""
    if not plan.symmetric or plan.on_host or collective not in MOVED or plan.release < FIRST:
        return ""
    if plan.steering.zero_cta and _may_be_asked(plan, collective):
        return "NCCL_CTA_POLICY=ZERO, -x 2 of nccl-tests"
    elements = size // plan.ranks // DTYPE_BYTES.get(plan.datatype, 1)
    unasked = collective is Collective.ALL_GATHER and plan.release >= UNASKED and plan.nodes == 1
    if unasked and plan.sms[0] >= BLACKWELL and plan.linked and elements > plan.steering.copied_from:
        most = plan.steering.copied_from
        number = f"{most >> 20} Mi" if most % (1 << 20) == 0 else f"{most:,}"
        return f"NCCL 2.29 on, Blackwell, more than {number} elements a rank"
    return ""


def _may_be_asked(plan: NodePlan, collective: Collective) -> bool:
    if plan.nodes > 1:
        return plan.release >= OF_NODES and collective in MOVED_BETWEEN_NODES
    return plan.release < NVLINK_ALONE or plan.linked
