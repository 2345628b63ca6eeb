# SPDX-License-Identifier: Apache-2.0
"""The messages between nodes of the rings and trees that NCCL joins over nodes in an order.

A ring of a channel leaves a node by one NIC and enters the next by one; both trees of a channel (`double_tree`) go up
and down their edges. Shares are of the bytes of one all-reduce: a ring sends 2 (n - 1) / n of a channel's part over
each step, a tree half of that part up and down each edge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from railgauge.topo.channels.trees import double_tree
from railgauge.topo.errors import InputError
from railgauge.topo.fabric.model import FabricEndpoint, FabricMap
from railgauge.topo.fabric.rails import FabricRails, RailRole, rail_of
from railgauge.topo.fabric.routing import Routing

if TYPE_CHECKING:
    import numpy as np


class ChannelPattern(StrEnum):
    """Which channels."""

    RING = "ring"
    TREE = "tree"


class ChannelNics(NamedTuple):
    """By which of a node's compute NICs, by their place, a channel enters and leaves."""

    enters: int
    leaves: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobNics:
    """The compute NICs of each node of a job, in the order of rails."""

    nodes: tuple[str, ...]
    nics: tuple[tuple[FabricEndpoint, ...], ...]

    @property
    def per_node(self) -> int:
        """NICs that all nodes have."""
        return min(map(len, self.nics))


class NicMessages(NamedTuple):
    """Messages between NICs; weights: bytes of each for one byte of the collective."""

    sources: list[FabricEndpoint]
    targets: list[FabricEndpoint]
    weights: "np.ndarray"


def job_nics(fabric: FabricMap, rails: FabricRails, nodes: Sequence[str]) -> JobNics:
    """The NICs of some nodes. InputError for a node without one."""
    found: dict[str, list[tuple[int, int, str, FabricEndpoint]]] = {node: [] for node in nodes}
    for one in fabric.leaf_of:
        rail = rail_of(fabric, rails, one)
        if one.node in found and rail and rail.role is RailRole.COMPUTE:
            found[one.node].append((rail.number, rail.plane or 0, one.device, one))
    bare = next((node for node, ones in found.items() if not ones), None)
    if bare is not None:
        raise InputError(f"{bare} has no NIC on a compute rail of this fabric")
    nics = tuple(tuple(row[-1] for row in sorted(found[node], key=lambda row: row[:3])) for node in nodes)
    return JobNics(nodes=tuple(nodes), nics=nics)


def usual_channels(job: JobNics) -> tuple[ChannelNics, ...]:
    """One channel for each NIC that all nodes have, in and out by the same."""
    return tuple(ChannelNics(place, place) for place in range(job.per_node))


def messages(
    job: JobNics, order: Sequence[int], channels: Sequence[ChannelNics], pattern: ChannelPattern, per_node: int = 1
) -> NicMessages:
    """The messages of nodes in an order (places in the job). per_node: ranks of a node, which a ring's share counts."""
    import numpy as np

    count = len(order)
    sources: list[FabricEndpoint] = []
    targets: list[FabricEndpoint] = []
    if pattern is ChannelPattern.RING:
        steps = [(order[place], order[(place + 1) % count]) for place in range(count)] if count > 1 else []
        ranks = count * per_node
        share = 2 * (ranks - 1) / ranks / len(channels)
    else:
        steps = [
            pair
            for node in range(count)
            for place in double_tree(count, node)
            if place.parent is not None
            for pair in ((order[node], order[place.parent]), (order[place.parent], order[node]))
        ]
        share = 1 / len(channels) / 2
    for channel in channels:
        for here, there in steps:
            sources.append(job.nics[here][channel.leaves])
            targets.append(job.nics[there][channel.enters])
    return NicMessages(sources, targets, np.full(len(sources), share))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FabricLoad:
    """What the directed cables carry for one byte of the collective, by number of the sending end in `routing`."""

    routing: Routing
    carried: "np.ndarray"
    pattern: StrEnum
    adaptive: bool

    @property
    def gb_per_s(self) -> float | None:
        """Of the collective, as the most loaded cable allows; None if nothing is sent, or a speed is unknown."""
        used = self.carried > 0
        speeds = self.routing.gb_per_s[used]
        return float((speeds / self.carried[used]).min()) if speeds.size and bool((speeds > 0).all()) else None

    def worst(self, most: int) -> list[tuple[int, float]]:
        """The ends of the most loaded cables and how long a byte of the collective takes there, relative to speed."""
        import numpy as np

        times = self.carried / np.where(self.routing.gb_per_s > 0, self.routing.gb_per_s, 1.0)
        return [
            (int(place), float(times[place])) for place in np.argsort(-times, kind="stable")[:most] if times[place] > 0
        ]


def load_of(routing: Routing, sent: NicMessages, pattern: ChannelPattern, *, adaptive: bool) -> FabricLoad:
    """The load of some messages."""
    carried = routing.loads(sent.sources, sent.targets, sent.weights, adaptive=adaptive)
    return FabricLoad(routing=routing, carried=carried, pattern=pattern, adaptive=adaptive)
