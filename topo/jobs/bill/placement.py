# SPDX-License-Identifier: Apache-2.0
"""Where the ranks of a group are: on which GPUs of how many nodes. Ranks are numbered node by node, as by torchrun."""

from dataclasses import dataclass, replace

from railgauge.topo.compare.what_if import edited
from railgauge.topo.errors import UsageError
from railgauge.topo.jobs.traces.trace import TracedGroup
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.ends import names_of
from railgauge.topo.values.spans import spans


@dataclass(frozen=True, slots=True, order=True)
class Placement:
    """`gpus`: those of each node, by their places among its GPUs. `assumed`: what the forecast assumes beyond the
    trace, "" for nothing.
    """

    nodes: int
    gpus: tuple[int, ...]
    assumed: str = ""

    @property
    def text(self) -> str:
        """1 node, GPUs 0-3."""
        return f"{self.nodes} node{'s' * (self.nodes > 1)}, {spans('GPU', self.gpus)}"


def nodes_for(ranks: int, per_node: int) -> int:
    """How many nodes so many ranks need."""
    return max(1, -(-ranks // per_node))


def placement(group: TracedGroup, per_node: int, nodes: int) -> Placement:
    """The placement of a group; UsageError if the nodes have too few GPUs.

    A forecast is for nodes with equal GPUs. Of others it takes as many of each as the largest part has room for.
    """
    last = max(group.ranks, default=group.size - 1)
    if last >= per_node * nodes:
        need = nodes_for(last + 1, per_node)
        raise UsageError(
            f"rank {last} of the trace: {nodes} node{'s' * (nodes > 1)} of {per_node} GPUs have ranks 0 to "
            f"{per_node * nodes - 1}; give --nodes {need}, or another machine"
        )
    by_node: dict[int, list[int]] = {}
    for rank in group.ranks or range(group.size):
        by_node.setdefault(rank // per_node, []).append(rank % per_node)
    assumed = "" if group.ranks else f"ranks of the group unknown: 0 to {group.size - 1} assumed"
    parts = {tuple(sorted(local)) for local in by_node.values()}
    if len(parts) == 1:
        return Placement(len(by_node), parts.pop(), assumed)
    each = -(-group.size // len(by_node))
    largest = max(sorted(parts), key=len)
    if {len(part) for part in parts} == {each}:
        why = "not the same GPUs of each node; forecast with those of one"
    else:
        why = f"{_counts(by_node)} ranks a node; forecast as {len(by_node)} x {each}"
    return Placement(len(by_node), largest[:each], assumed or why)


def machine_of(machine: Machine, gpus: tuple[int, ...]) -> Machine:
    """The machine with these GPUs alone."""
    names = [names_of(gpu)[0] for gpu in machine.system.gpus]
    if len(gpus) == len(names):
        return machine
    gone = [name for place, name in enumerate(names) if place not in gpus]
    return replace(machine, topology=edited(machine.running, (), gone))


def _counts(by_node: dict[int, list[int]]) -> str:
    return " + ".join(str(len(by_node[node])) for node in sorted(by_node))
