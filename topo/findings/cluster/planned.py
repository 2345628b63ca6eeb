# SPDX-License-Identifier: Apache-2.0
"""The endpoints over which the plan of `graph join` connects nodes, for the cost of a blocked connection."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

from railgauge.topo.errors import Error
from railgauge.topo.findings.cluster.endpoints import ROCE, SOCKET, Use
from railgauge.topo.findings.cluster.examination import Examined
from railgauge.topo.findings.cluster.reach import Rail

MOST_KINDS = 8
"""Kinds of nodes that are planned together; a cluster has fewer, unless every node is different."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The number of channels, in total and by rail.

    Empty without a plan, such as without GPUs.
    """

    channels: int = 0
    rails: Mapping[Rail, int] = field(default_factory=dict)


def planned(nodes: Iterable[Examined], paths: Mapping[str, str]) -> Planned:
    """The plan of two nodes of each kind, by the captures at `paths`, with the graphs that NCCL chooses."""
    kinds = {node.fingerprint: paths[node.name] for node in nodes}
    if len(kinds) > MOST_KINDS:
        return Planned()
    try:
        return _joined(list(kinds.values()))
    except Error:  # no GPU, no NIC, or NCCL splits the node
        return Planned()


def crossings(nodes: Iterable[Examined], plan: Planned) -> frozenset[Rail]:
    """Rails between two uses: those of the plan, and all with NCCL_CROSS_NIC=1."""
    crossing = [node.individual.endpoints for node in nodes if node.individual.crosses_nics]
    uses = [[use for one in its for use in one.uses] for its in crossing]
    wanted = {(one, two) for its in uses for one, two in product(its, its) if _kind(one) == _kind(two)}
    return frozenset((one, two) for one, two in (*plan.rails, *wanted) if one != two)


def _kind(use: Use) -> str:
    return use.rpartition("/")[0]


def _joined(files: list[str]) -> Planned:
    from railgauge.topo.channels.graph import Policy
    from railgauge.topo.channels.joined import join
    from railgauge.topo.machine import load_machine
    from railgauge.topo.predict.search import search

    machines = [load_machine(path) for path in files]
    members = [
        (
            path,
            machine.system,
            search(
                machine.system,
                nodes=2 * len(machines),
                policy=Policy.NCCL,
                steering=machine.steering,
                denied=machine.denied,
            ),
        )
        for path, machine in zip(files, machines, strict=True)
    ]
    joined = join([*members, *members], machines[0].steering)
    transports = [ROCE if machine.rdma_ports else SOCKET for machine in machines] * 2
    channels: dict[Rail, set[int]] = {}
    ways = [ring.edges for ring in joined.rings] + [tree.edges for tree in joined.trees]
    for number, steps in enumerate(ways):
        for step in steps:
            if step.nets:
                out, into = (transports[joined.node_of(rank)] for rank in (step.source, step.target))
                rail = (f"{out}/{step.nets[0]}", f"{into}/{step.nets[1]}")
                channels.setdefault(rail, set()).add(number % len(joined.rings))
    return Planned(len(joined.rings), {rail: len(numbers) for rail, numbers in channels.items()})
