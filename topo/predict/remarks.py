# SPDX-License-Identifier: Apache-2.0
"""Remarks on a forecast: where it is an upper bound, and where NCCL does as without symmetric windows."""

from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.staging import staged
from railgauge.topo.predict.symmetric import without_kernel


def remarks(plan: NodePlan, collective: Collective) -> tuple[str, ...]:
    """Each in a sentence, for a line of its own."""
    return tuple(text for text in (without_kernel(plan, collective), staged(plan)) if text)
