# SPDX-License-Identifier: Apache-2.0
"""Which cable limits a job's rings, trees or messages in pairs: of all that it takes, the most loaded for its speed."""

from collections import Counter
from collections.abc import Sequence
from functools import cache

from railgauge.topo.channels.limiting_cable import LimitingCable, Nets, Sent
from railgauge.topo.fabric.model import FabricMap
from railgauge.topo.fabric.pair_traffic import PairPattern, pair_load
from railgauge.topo.fabric.rails import FabricRails
from railgauge.topo.fabric.routing import Routing
from railgauge.topo.fabric.traffic import (
    ChannelNics,
    ChannelPattern,
    FabricLoad,
    JobNics,
    job_nics,
    load_of,
    messages,
)


class JobCables:
    """Of jobs over the first nodes of a fabric; named ones, where given, come in their order.

    Traffic takes the forwarding tables, or spreads over all shortest paths where these are not known.
    """

    def __init__(self, fabric: FabricMap, rails: FabricRails, nodes: Sequence[str] = ()) -> None:
        on_rails = {one.node for rail in rails.compute for leaf in rail.leaves for one in fabric.on_leaf[leaf]}
        self._nodes = tuple(nodes or (node for node in fabric.nodes if node in on_rails))
        self._fabric, self._rails = fabric, rails
        self._routing, self._adaptive = Routing(fabric), fabric.routes is None
        self.limiting = cache(self._limiting)
        self.limiting_pairs = cache(self._limiting_pairs)

    def _limiting(self, count: int, nets: Nets, trees: bool) -> LimitingCable | None:
        """For that many nodes and the NICs of channels.

        None if the fabric has fewer nodes or NICs, or a speed is unknown. InputError: two nodes have no path.
        """
        devs = sorted({dev for pair in nets for dev in pair})
        job = self._job(count, len(devs))
        if job is None:
            return None
        channels = [ChannelNics(devs.index(pair[0]), devs.index(pair[-1])) for pair in nets]
        pattern = ChannelPattern.TREE if trees else ChannelPattern.RING
        sent = messages(job, range(count), channels, pattern)
        sends: Counter[str] = Counter()
        for one, weight in zip(sent.sources, sent.weights.tolist(), strict=True):
            sends[one.node] += weight
        return _worst(load_of(self._routing, sent, pattern, adaptive=self._adaptive), max(sends.values()))

    def _limiting_pairs(self, count: int, sent: Sent, to_all: bool) -> LimitingCable | None:
        """For that many nodes that send to all others or to the next; None and InputError as for channels."""
        job = self._job(count, len(sent))
        if job is None:
            return None
        weights = [weight for _, weight in sorted(sent)]
        pattern = PairPattern.ALL_TO_ALL if to_all else PairPattern.SEND_RECV
        return _worst(pair_load(self._routing, job, weights, pattern, adaptive=self._adaptive), sum(weights))

    def _job(self, count: int, nics: int) -> JobNics | None:
        """The first nodes; None if the fabric has fewer, or they have fewer NICs."""
        if not 1 < count <= len(self._nodes):
            return None
        job = job_nics(self._fabric, self._rails, self._nodes[:count])
        return job if nics <= job.per_node else None


def _worst(load: FabricLoad, sends: float) -> LimitingCable | None:
    """The cable that is loaded most of what the busiest node sends; None if a speed is unknown."""
    if load.gb_per_s is None:
        return None
    routing, fabric = load.routing, load.routing.fabric
    ((place, _),) = load.worst(1)
    end = routing.ends[place]
    return LimitingCable(
        source=fabric.end_name(end),
        target=fabric.end_name(fabric.cable_at[end].other(end)),
        gb_per_s=float(routing.gb_per_s[place]),
        share=float(load.carried[place]) / sends,
    )
