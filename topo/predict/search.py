# SPDX-License-Identifier: Apache-2.0
"""The search of a node's graphs, ring and tree: NCCL's choice, or the best found.

The best carry no less than NCCL's, and over them no collective is predicted slower at the sizes that bandwidth decides.
At smaller sizes latencies count too, and channels by farther NICs can lose there what they gain at larger ones.
"""

from railgauge.topo.channels.best import best_graphs
from railgauge.topo.channels.graph import Graphs, Policy
from railgauge.topo.channels.group import group_of
from railgauge.topo.channels.nccl import nccl_graphs
from railgauge.topo.channels.running import with_running
from railgauge.topo.channels.wiring import wire_up
from railgauge.topo.errors import UnavailableError
from railgauge.topo.nccl.graph.model import System
from railgauge.topo.nccl.paths.paths import Paths, paths
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.nccl.settings.steering import Steering
from railgauge.topo.predict.nccl_cost import cost
from railgauge.topo.predict.nccl_model import choose
from railgauge.topo.predict.passing import Passing
from railgauge.topo.predict.plan import NodePlan

DEFAULTS = Steering()
MOST_GPUS = 144
"""Twice the GPUs of an NVL72 domain, the largest one: the search time grows with the square or faster."""
LARGE = tuple(1 << power for power in range(26, 31))
"""64 MiB to 1 GiB: the sizes that bandwidth decides."""
OVER_CHANNELS = tuple(one for one in Collective if not one.in_pairs)
ROUNDING = 1e-9


def search(
    system: System,
    *,
    nodes: int = 1,
    policy: Policy = Policy.BEST,
    steering: Steering = DEFAULTS,
    p2p: bool = True,
    denied: frozenset[tuple[str, str]] = frozenset(),
    table: Paths | None = None,
) -> Graphs:
    """The graphs of one of `nodes` equal nodes. `p2p` False: no peer access between GPUs; `denied`: not for those;
    `table`: the paths under all of that, where they are known.

    UnavailableError without ranks, a path between them or a NIC to leave by, and for more than MOST_GPUS GPUs.
    """
    if len(system.gpus) > MOST_GPUS:
        raise UnavailableError(f"{len(system.gpus)} GPUs: the search supports up to {MOST_GPUS} per machine")
    table = table or paths(system, p2p=p2p, levels=steering.levels, denied=denied)
    if nodes > 1 and not system.nets:
        raise UnavailableError("no NIC: this machine cannot be one of several nodes")
    group = group_of(system, table, nodes)
    listed = wire_up(system, table, nodes, system.listed_nets)
    if policy is Policy.NCCL:
        return with_running(group, nccl_graphs(listed, steering.cross_nic))
    once = listed if system.listed_nets == system.nets else wire_up(system, table, nodes, system.nets)
    found = best_graphs(once, listed, nodes, steering.cross_nic)
    return with_running(group, _no_slower(system, table, found, nodes, steering))


def _no_slower(system: System, table: Paths, found: tuple[Graphs, ...], nodes: int, steering: Steering) -> Graphs:
    """The first of some graphs over which no collective is predicted slower than over the last, NCCL's."""
    *better, nccl = found
    if not better:
        return nccl
    theirs = _times_us(NodePlan(system=system, table=table, graphs=nccl, nodes=nodes, steering=steering))
    for graphs in better:
        ours = _times_us(NodePlan(system=system, table=table, graphs=graphs, nodes=nodes, steering=steering))
        if all(one <= other * (1 + ROUNDING) for one, other in zip(ours, theirs, strict=True)):
            return graphs
    return nccl


def _times_us(plan: NodePlan) -> list[float]:
    """The predicted times of all collectives over channels, at each large size; of ring and tree alone."""
    passing, allowed = Passing(plan), read_allowed({"NCCL_ALGO": "ring,tree"})
    chosen = [(one, size, choose(plan, one, size, allowed)) for one in OVER_CHANNELS for size in LARGE]
    return [cost(passing, one, size, by.algorithm, by.protocol).time_us for one, size, by in chosen if by]
