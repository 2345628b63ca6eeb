# SPDX-License-Identifier: Apache-2.0
"""The search of a node's graphs, ring and tree: the best found, or NCCL's choice."""

from railgauge.topo.channels.best import best_graphs
from railgauge.topo.channels.graph import Graphs, Policy
from railgauge.topo.channels.group import group_of
from railgauge.topo.channels.nccl import nccl_graphs
from railgauge.topo.channels.running import with_running
from railgauge.topo.channels.wiring import wire_up
from railgauge.topo.errors import UnavailableError
from railgauge.topo.nccl.graph.model import System
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.steering import Steering

DEFAULTS = Steering()
MOST_GPUS = 144
"""Twice the GPUs of an NVL72 domain, the largest one: the search time grows with the square or faster."""


def search(
    system: System,
    *,
    nodes: int = 1,
    policy: Policy = Policy.BEST,
    steering: Steering = DEFAULTS,
    p2p: bool = True,
    denied: frozenset[tuple[str, str]] = frozenset(),
) -> Graphs:
    """The graphs of one of `nodes` equal nodes. `p2p` False: no peer access between GPUs; `denied`: not for those.

    UnavailableError without ranks, a path between them or a NIC to leave by, and for more than MOST_GPUS GPUs.
    """
    if len(system.gpus) > MOST_GPUS:
        raise UnavailableError(f"{len(system.gpus)} GPUs: the search supports up to {MOST_GPUS} per machine")
    table = paths(system, p2p=p2p, levels=steering.levels, denied=denied)
    if nodes > 1 and not system.nets:
        raise UnavailableError("no NIC: this machine cannot be one of several nodes")
    listed = wire_up(system, table, nodes, system.listed_nets)
    if policy is Policy.NCCL:
        found = nccl_graphs(listed, steering.cross_nic)
    else:
        once = listed if system.listed_nets == system.nets else wire_up(system, table, nodes, system.nets)
        found = best_graphs(once, listed, nodes, steering.cross_nic)
    return with_running(group_of(system, table, nodes), found)
