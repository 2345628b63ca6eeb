# SPDX-License-Identifier: Apache-2.0
"""What a wire carries, in words: a figure, "no limit" where NCCL's model has none, and whether it is only assumed."""

from railgauge.topo.model import LOCAL_GB_PER_S, Link, LinkKind, System


def speed_text(gb_per_s: float) -> str:
    """A bandwidth; NCCL's stand-in for a wire that never limits is no figure."""
    return f"{gb_per_s:g} GB/s" if gb_per_s < LOCAL_GB_PER_S else "no limit"


def is_assumed(system: System, link: Link) -> bool:
    """Whether a link's figure is one for planning that nobody measured: a host rank's, or its memory's."""
    return link.kind is LinkKind.MEM and (system.node(link.source).assumed or system.node(link.target).assumed)
