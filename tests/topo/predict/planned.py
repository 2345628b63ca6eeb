# SPDX-License-Identifier: Apache-2.0
"""Plans of fixtures, over the channels that NCCL would choose."""

from functools import cache

from railgauge.topo.channels.graph import Policy
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.steering import Steering, read_steering
from railgauge.topo.predict.fabric import ONE_SWITCH, Fabric
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.search import search
from railgauge.topo.xml.topology import Topology


@cache
def plan(name: str, nodes: int = 1, *, fabric: Fabric = ONE_SWITCH, p2p: bool = True) -> NodePlan:
    return planned(load_machine(name).topology, nodes, fabric=fabric, p2p=p2p)


def planned(topology: Topology, nodes: int = 1, *, fabric: Fabric = ONE_SWITCH, p2p: bool = True) -> NodePlan:
    system = build_system(topology)
    steering = Steering() if p2p else read_steering({"NCCL_P2P_DISABLE": "1"})
    graphs = search(system, nodes=nodes, policy=Policy.NCCL, steering=steering)
    table = paths(system, levels=steering.levels)
    return NodePlan(system=system, table=table, graphs=graphs, nodes=nodes, fabric=fabric)
