# SPDX-License-Identifier: Apache-2.0
"""A plan whose GPUs send by NICs of another NUMA node, unknown to NCCL: what lies between the nodes carries it all.

So it is where a VM or container hides the NUMA nodes, or NCCL_IB_HCA or a topology file names the wrong NICs. NCCL
plans as if all were near: no GPU relays.
"""

from dataclasses import replace

from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.channels.graph import Graph
from railgauge.topo.nccl.graph.model import Node, NodeKind
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.predict.plan import NodePlan


def crossed(plan: NodePlan) -> NodePlan | None:
    """The plan with each NIC replaced by one of another NUMA node that is as fast; None where there is none."""
    taken = {net for channel in plan.graphs.ring.channels for net in channel.nets}
    by_side: dict[str, list[Node]] = {}
    for net in plan.system.nets:
        by_side.setdefault(_side(plan, net), []).append(net)
    far: dict[str, Node] = {}
    for side, nets in by_side.items():
        for number, net in enumerate(one for one in nets if dev_number(one) in taken):
            others = [one for name in by_side if name != side for one in by_side[name] if _speed(plan, one, net)]
            if not others:
                return None
            used = [one for one in others if dev_number(one) in taken] or others
            far[net.id] = used[number % len(used)]
    if not far:
        return None
    numbers = {dev_number(net): dev_number(far[net.id]) for net in plan.system.nets if net.id in far}
    graphs = replace(plan.graphs, ring=_moved(plan.graphs.ring, numbers), tree=_moved(plan.graphs.tree, numbers))
    table = paths(plan.system, levels=replace(plan.steering.levels, pxn=False))
    return replace(plan, graphs=graphs, table=table, far=far)


def _side(plan: NodePlan, net: Node) -> str:
    cpus = plan.system.kind(NodeKind.CPU)
    return min(cpus, key=lambda cpu: plan.table.wired(net.id, cpu.id).hops).id


def _speed(plan: NodePlan, one: Node, net: Node) -> bool:
    """Whether a NIC is as fast as another on its way to its own NUMA node."""
    speeds = [plan.table.wired(each.id, _side(plan, each)).gb_per_s for each in (one, net)]
    return speeds[0] >= speeds[1]


def _moved(graph: Graph, numbers: dict[int, int]) -> Graph:
    channels = tuple(
        replace(channel, nets=tuple(numbers.get(net, net) for net in channel.nets)) for channel in graph.channels
    )
    return replace(graph, channels=channels)
