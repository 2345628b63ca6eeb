# SPDX-License-Identifier: Apache-2.0
"""The channels that NCCL 2.30 would choose (topo/native/nccl_search.h), as graphs."""

import time
from collections.abc import Callable

from railgauge import _native
from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.channels.graph import MAX_CHANNELS, Channel, Graph, Graphs
from railgauge.topo.channels.wiring import Wiring
from railgauge.topo.nccl.graph.model import PATH_TYPES

DIGITS = 4  # after the point: NCCL's speeds are float, and 2.4 is 2.4000000954 there


def nccl_graphs(wiring: Wiring, cross_nic: int) -> Graphs:
    """Ring and tree as `ncclTopoCompute` finds them; `cross_nic` is NCCL_CROSS_NIC."""
    ring = _timed(wiring, lambda: _native.topo.nccl_ring(wiring.native, MAX_CHANNELS, cross_nic))
    tree = _timed(wiring, lambda: _native.topo.nccl_tree(wiring.native, len(ring.channels), cross_nic))
    return Graphs(ring=ring, tree=tree)


def _timed(wiring: Wiring, search: Callable[[], _native.topo.NcclGraph]) -> Graph:
    start = time.perf_counter()
    found = search()
    took = (time.perf_counter() - start) * 1e3
    return Graph(
        pattern=found.pattern,
        cross_nic=found.cross_nic,
        same_channels=int(found.same_channels),
        type_intra=PATH_TYPES[found.type_intra],
        type_inter=PATH_TYPES[found.type_inter],
        latency_inter=round(found.latency_us, DIGITS),
        gb_per_s_intra=round(found.intra, DIGITS),
        gb_per_s_inter=round(found.inter, DIGITS),
        search_ms=round(took, 3),
        channels=tuple(_channel(wiring, found, number) for number in range(found.channels)),
    )


def _channel(wiring: Wiring, found: _native.topo.NcclGraph, number: int) -> Channel:
    count = len(wiring.ranks)
    order = found.order[number * count : (number + 1) * count]
    nets = [dev_number(wiring.nets[net]) for net in found.nets[number] if net >= 0] if wiring.leaves else []
    return Channel(ranks=tuple(wiring.ranks[gpu].rank or 0 for gpu in order), nets=tuple(nets))
