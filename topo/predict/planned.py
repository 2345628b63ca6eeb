# SPDX-License-Identifier: Apache-2.0
"""What NCCL would run on a machine, as one of several equal nodes, under some settings."""

from collections.abc import Mapping

from railgauge.topo.channels.graph import Policy
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.peer_status import denied_pairs
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.steering import read_steering
from railgauge.topo.predict.nvlink_domain import domain_nodes, joined
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.release import Release, known_release
from railgauge.topo.predict.search import search


def planned(
    machine: Machine, nodes: int = 1, settings: Mapping[str, str] | None = None, release: Release | None = None
) -> NodePlan:
    """Its plan under its own settings and release of NCCL, or under others. Error if NCCL would find no channels."""
    steering = machine.steering if settings is None else read_steering(settings)
    release = release or known_release(machine.sources.nccl)
    domain = domain_nodes(machine.sources.gpus, nodes, release) if steering.mnnvl else 1
    if domain > 1:
        system = build_system(joined(machine.running, domain))
        denied = denied_pairs(system, machine.reader)
    else:
        system, denied = machine.system, machine.denied
    own = domain == 1 and steering.levels == machine.steering.levels
    table = machine.paths if own else paths(system, levels=steering.levels, denied=denied)
    nodes //= domain
    graphs = search(system, nodes=nodes, policy=Policy.NCCL, steering=steering, table=table)
    return NodePlan(
        system=system, table=table, graphs=graphs, nodes=nodes, steering=steering, release=release, domain=domain
    )
