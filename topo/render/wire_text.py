# SPDX-License-Identifier: Apache-2.0
"""What a wire carries, in words: a figure, or "no limit" where NCCL's model has none; and which wires are unknown."""

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S


def speed_text(gb_per_s: float) -> str:
    """A bandwidth; NCCL's stand-in for a wire that never limits is no figure."""
    return f"{gb_per_s:g} GB/s" if gb_per_s < LOCAL_GB_PER_S else "no limit"


def short_speed(gb_per_s: float) -> str:
    """As `speed_text`, to three digits, for labels."""
    if gb_per_s >= LOCAL_GB_PER_S:
        return "no limit"
    return f"{gb_per_s:.0f} GB/s" if gb_per_s >= 100 else f"{gb_per_s:.3g} GB/s"


def nvlinks_text(inventory: MachineFacts | None) -> str:
    """That NVLinks are unknown and why; "" where they are known."""
    why = inventory.no_nvml if inventory and inventory.gpus else None
    return f"NVLinks are unknown: NVML does not answer ({why})" if why else ""
