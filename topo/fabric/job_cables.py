# SPDX-License-Identifier: Apache-2.0
"""Which cable limits a job's rings or trees: the most loaded for its speed, of all that its messages take."""

from collections import Counter
from collections.abc import Sequence
from functools import cache

from railgauge.topo.channels.limiting_cable import LimitingCable, Nets
from railgauge.topo.fabric.model import FabricMap
from railgauge.topo.fabric.rails import FabricRails
from railgauge.topo.fabric.routing import Routing
from railgauge.topo.fabric.traffic import ChannelNics, ChannelPattern, JobNics, job_nics, load_of, messages


class JobCables:
    """Of jobs over the first nodes of a fabric; named ones, where given, come in their order.

    Traffic takes the forwarding tables, or spreads over all shortest paths where these are not known.
    """

    def __init__(self, fabric: FabricMap, rails: FabricRails, nodes: Sequence[str] = ()) -> None:
        on_rails = {one.node for rail in rails.compute for leaf in rail.leaves for one in fabric.on_leaf[leaf]}
        self._nodes = tuple(nodes or (node for node in fabric.nodes if node in on_rails))
        self._fabric, self._rails = fabric, rails
        self._routing = Routing(fabric)
        self.limiting = cache(self._limiting)

    def _limiting(self, count: int, nets: Nets, trees: bool) -> LimitingCable | None:
        """For that many nodes and the NICs of channels.

        None if the fabric has fewer nodes or NICs, or a speed is unknown. InputError: two nodes have no path.
        """
        devs = sorted({dev for pair in nets for dev in pair})
        if not 1 < count <= len(self._nodes):
            return None
        job = job_nics(self._fabric, self._rails, self._nodes[:count])
        if len(devs) > job.per_node:
            return None
        channels = [ChannelNics(devs.index(pair[0]), devs.index(pair[-1])) for pair in nets]
        return self._of(job, channels, ChannelPattern.TREE if trees else ChannelPattern.RING)

    def _of(self, job: JobNics, channels: Sequence[ChannelNics], pattern: ChannelPattern) -> LimitingCable | None:
        routing, fabric = self._routing, self._fabric
        sent = messages(job, range(len(job.nodes)), channels, pattern)
        load = load_of(routing, sent, pattern, adaptive=fabric.routes is None)
        if load.gb_per_s is None:
            return None
        sends: Counter[str] = Counter()
        for one, weight in zip(sent.sources, sent.weights.tolist(), strict=True):
            sends[one.node] += weight
        ((place, _),) = load.worst(1)
        end = routing.ends[place]
        return LimitingCable(
            source=fabric.end_name(end),
            target=fabric.end_name(fabric.cable_at[end].other(end)),
            gb_per_s=float(routing.gb_per_s[place]),
            share=float(load.carried[place]) / max(sends.values()),
        )
