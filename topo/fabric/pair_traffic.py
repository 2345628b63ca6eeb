# SPDX-License-Identifier: Apache-2.0
"""The load of operations in pairs: each GPU sends to all others, or to the next.

A message enters a node by the NIC of its target and leaves the sender by the same NIC of that node (NCCL's PXN), so
that it stays on its rail.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from railgauge.topo.fabric.model import FabricEndpoint
from railgauge.topo.fabric.routing import Routing
from railgauge.topo.fabric.traffic import FabricLoad, JobNics

if TYPE_CHECKING:
    import numpy as np


class PairPattern(StrEnum):
    """Who sends to whom: every rank to every other, in equal parts, or to the next rank."""

    ALL_TO_ALL = "alltoall"
    SEND_RECV = "sendrecv"


def usual_sent(job: JobNics, pattern: PairPattern, per_node: int) -> list[float]:
    """What a node of so many ranks sends by each of its NICs, in bytes for one byte of each rank.

    To all: ranks share the NICs evenly. To the next: the last rank of a node sends to the first of the next node, on
    the rail of that one, the first.
    """
    if pattern is PairPattern.SEND_RECV:
        return [1.0] + [0.0] * (job.per_node - 1)
    count = len(job.nodes)
    return [per_node * (count - 1) / count / job.per_node] * job.per_node


def pair_load(
    routing: Routing, job: JobNics, sent: Sequence[float], pattern: PairPattern, *, adaptive: bool
) -> FabricLoad:
    """The load if each node of a job sends so many bytes by each of its NICs, to all other nodes or to the next one."""
    import numpy as np

    carried = np.zeros(len(routing.ends))
    for place, weight in enumerate(sent):
        ones = [nics[place] for nics in job.nics]
        if weight == 0 or len(ones) < 2:
            continue
        if pattern is PairPattern.SEND_RECV:
            carried += routing.loads(ones, [*ones[1:], ones[0]], np.full(len(ones), weight), adaptive=adaptive)
        else:
            carried += _to_all(routing, ones, weight / (len(ones) - 1), adaptive=adaptive)
    return FabricLoad(routing=routing, carried=carried, pattern=pattern, adaptive=adaptive)


def _to_all(routing: Routing, ones: Sequence[FabricEndpoint], weight: float, *, adaptive: bool) -> "np.ndarray":
    """Each of some NICs sends to each other one. Those of a leaf take the same paths from there: one sends for all."""
    import numpy as np

    on_leaf: dict[str, list[FabricEndpoint]] = {}
    for one in ones:
        on_leaf.setdefault(routing.fabric.leaf_of[one], []).append(one)
    sources = [there[0] for there in on_leaf.values() for _ in ones]
    senders = [len(there) - (one in there) for there in map(set, on_leaf.values()) for one in ones]
    found = routing.loads(sources, [*ones] * len(on_leaf), weight * np.array(senders), adaptive=adaptive)
    found[routing.first(ones)] = weight * (len(ones) - 1)
    return found
