# SPDX-License-Identifier: Apache-2.0
"""A pick (railgauge/pick/1): the GPUs, the reasons, and the GPUs left for others."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from railgauge.topo.channels.binding import Binding
from railgauge.topo.nccl.graph.model import Node
from railgauge.topo.predict.pick import GpuChoice, Pick, same
from railgauge.topo.render.binding import port_names


def pick_lines(pick: Pick) -> list[str]:
    """The choice, its figures, the rest, and the next best with the reason against it."""
    best = pick.best
    lines = [names(best.gpus), f"  ring       {speed(best.ring_gb_per_s)}{_limit(best)}"]
    lines.append(f"  NICs       {_types(best.net_types)}")
    left = f"{names(best.left)}, ring {speed(pick.left_ring_gb_per_s)}" if best.left else "no GPU"
    lines.append(f"  left       {left}")
    lines.append(f"  next best  {_next(pick)}")
    lines.append(f"  searched   {pick.searched} of {pick.subsets} subsets; the rest are equivalent or cannot be better")
    return lines


def names(gpus: Sequence[Node]) -> str:
    """GPU0 GPU3."""
    return " ".join(f"GPU{gpu.dev}" for gpu in gpus)


def speed(gb_per_s: float | None) -> str:
    """GB/s, or that one GPU has none."""
    return "none: one GPU" if gb_per_s is None else f"{gb_per_s:g} GB/s"


def _limit(choice: GpuChoice) -> str:
    known = choice.limit_gb_per_s
    return "" if known is None or known == float("inf") else f", at most {known:g} over its links"


def _types(types: Sequence[str]) -> str:
    return ", ".join(f"{count} at {name}" for name, count in Counter(types).items()) or "none"


def _next(pick: Pick) -> str:
    if pick.next_best is not None:
        return f"{names(pick.next_best.gpus)}: {why(pick.best, pick.next_best)}"
    return "none" if pick.subsets == 1 else "all others are equally good; the lower numbers win"


def why(best: GpuChoice, other: GpuChoice) -> str:
    """The first advantage of the best choice over another."""
    if not same(best.ring_gb_per_s, other.ring_gb_per_s):
        return f"ring {speed(other.ring_gb_per_s)}"
    if best.net_types != other.net_types and sorted(best.net_types) != sorted(other.net_types):
        return f"as much ring bandwidth, but NICs {_types(other.net_types)}"
    if not same(best.net_gb_per_s, other.net_gb_per_s):
        return f"the same, but the paths to its NICs run at {other.net_gb_per_s:g} of {best.net_gb_per_s:g} GB/s"
    if not same(best.left_limit_gb_per_s, other.left_limit_gb_per_s):
        return f"the same, but leaves a ring of at most {speed(other.left_limit_gb_per_s)}"
    if best.shared != other.shared:
        return f"the same, but shares NICs or NUMA nodes with more of the other GPUs ({other.shared} pairs)"
    return "equally good; the lower numbers win"


def pick_document(pick: Pick, bindings: Sequence[Binding], all_nets: Sequence[Node]) -> dict[str, Any]:
    """The fields of the document."""
    return {
        "best": _choice(pick.best),
        "next_best": _choice(pick.next_best) if pick.next_best else None,
        "left": [gpu.dev for gpu in pick.best.left],
        "left_ring_gb_per_s": pick.left_ring_gb_per_s,
        "subsets": pick.subsets,
        "searched": pick.searched,
        "bindings": [_binding(binding, all_nets) for binding in bindings],
    }


def _choice(choice: GpuChoice) -> dict[str, Any]:
    limit = choice.limit_gb_per_s
    return {
        "gpus": [gpu.dev for gpu in choice.gpus],
        "ring_gb_per_s": choice.ring_gb_per_s,
        "limit_gb_per_s": None if limit is None or math.isinf(limit) else limit,
        "net_types": list(choice.net_types),
        "net_gb_per_s": choice.net_gb_per_s,
        "shared_pairs": choice.shared,
    }


def _binding(binding: Binding, all_nets: Sequence[Node]) -> dict[str, Any]:
    return {
        "rank": binding.rank,
        "gpu": binding.gpu.dev,
        "bus_id": binding.gpu.bus_id,
        "numa": binding.numa,
        "cpus": list(binding.cpus) or None,
        "cores": list(binding.cores) or None,
        "nics": port_names(binding.nets, all_nets),
    }
