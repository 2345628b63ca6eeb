# SPDX-License-Identifier: Apache-2.0
"""A pick and its bindings as the content of a railgauge/pick/1 document."""

import math
from collections.abc import Sequence
from typing import Any

from railgauge.topo.channels.binding import Binding
from railgauge.topo.channels.pick import Choice, Pick
from railgauge.topo.nccl.graph.model import Node
from railgauge.topo.render.binding_text import port_names


def as_record(pick: Pick, bindings: Sequence[Binding], all_nets: Sequence[Node]) -> dict[str, Any]:
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


def _choice(choice: Choice) -> dict[str, Any]:
    limit = choice.limit_gb_per_s
    return {
        "gpus": [gpu.dev for gpu in choice.gpus],
        "ring_gb_per_s": choice.ring_gb_per_s,
        "limit_gb_per_s": None if limit is None or math.isinf(limit) else limit,
        "net_types": list(choice.net_types),
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
