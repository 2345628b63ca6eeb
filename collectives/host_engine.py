# SPDX-License-Identifier: Apache-2.0
"""The native engine of a communicator over host memory, with the connections that its algorithms need."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from railgauge._native import collectives as native
from railgauge._native.transports import SharedSegment
from railgauge.collectives.connections import Connections
from railgauge.collectives.cost.host_cost import has_segments
from railgauge.collectives.ending import Ending
from railgauge.collectives.plan import Tree
from railgauge.collectives.tuning import Choice, uses
from railgauge.collectives.waiting import is_crowded
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.transports.group import Group
from railgauge.transports.peer import Peer
from railgauge.transports.select import sharing_memory
from railgauge.transports.wire import Nets

STREAM_BYTES = 32 << 20
"""Results of at least this size are written past the caches, which could not hold them anyway."""


class Channels(NamedTuple):
    """What to connect: rings, each the ranks in ring order, their routes (`Plan.nets`), and trees."""

    rings: list[list[int]]
    nets: list[list[Nets]]
    trees: Sequence[Tree]


def host_engine(
    connections: Connections,
    ending: Ending,
    peers: Sequence[Peer],
    everybody: Sequence[Peer],
    group: Group,
    channels: Channels,
    choices: Mapping[Collective, list[Choice]],
) -> tuple[native.Communicator, SharedSegment | None]:
    """Connect the `peers`, which are all ranks of the group, and make the engine; all ranks together.

    `everybody`: all processes that may share this one's cores. The second is the shared segment, if all ranks map it.
    """
    rings, nets, trees = channels
    hosts = sharing_memory(peers)
    across = uses(choices, Algorithm.HIERARCHICAL)
    engine = ending.connecting(
        lambda: native.Communicator(
            group.rank,
            group.world_size,
            connections.doorbell,
            connections,
            hosts,
            list(zip(rings, nets, strict=True)),
            [(tree.parents, tree.up, tree.down) for tree in trees],
            cube=uses(choices, Algorithm.RECURSIVE_DOUBLING) or uses(choices, Algorithm.RECURSIVE_HALVING),
            across=across,
            segments=len(peers) > 1 and (across or has_segments([len(ranks) for ranks in hosts])),
            timeout_s=group.job.timeout_s,
            crowded=is_crowded(peers[group.rank], everybody),
            stream_bytes=STREAM_BYTES,
        )
    )
    return engine, connections.segment if len(hosts) == 1 else None  # registered memory is what all ranks map
