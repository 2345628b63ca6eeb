# SPDX-License-Identifier: Apache-2.0
"""What NCCL would run on a machine, as one of several equal nodes, under some settings."""

from collections.abc import Mapping

from railgauge.topo.channels.graph import Policy
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.steering import read_steering
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.search import search


def planned(machine: Machine, nodes: int = 1, settings: Mapping[str, str] | None = None) -> NodePlan:
    """Its plan under its own settings, or under others. Error if NCCL would find no channels."""
    system, denied = machine.system, machine.denied
    steering, table = machine.steering, machine.paths
    if settings is not None:
        steering = read_steering(settings)
        table = paths(system, levels=steering.levels, denied=denied)
    graphs = search(system, nodes=nodes, policy=Policy.NCCL, steering=steering, denied=denied)
    return NodePlan(system=system, table=table, graphs=graphs, nodes=nodes, steering=steering)
