# SPDX-License-Identifier: Apache-2.0
"""The loads of links as text: the fullest first, links alike told once."""

from collections.abc import Sequence

from railgauge.topo.channels.load import LinkLoad, alike, named
from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S

MOST_LINES = 8


def load_lines(loads: Sequence[LinkLoad]) -> list[str]:
    """The lines of a graph's loads; what NCCL's model does not limit is left out."""
    lines = [_line(group) for group in alike(load for load in loads if load.link.gb_per_s < LOCAL_GB_PER_S)]
    rest = len(lines) - MOST_LINES
    return lines[:MOST_LINES] + ([f"  and {rest} more kinds of links, less full"] if rest > 0 else [])


def _line(group: Sequence[LinkLoad]) -> str:
    first = group[0]
    return f"  {first.share:4.0%}  {first.gb_per_s:.4g} of {first.link.gb_per_s:.4g} GB/s  {named(group)}"
