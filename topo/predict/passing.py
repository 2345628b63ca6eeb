# SPDX-License-Identifier: Apache-2.0
"""The throughput of all channels together, GB/s: limited by the plan, by the number that runs, and by the links.

For a tree it is twice the reduced data, as NCCL counts, because all data goes up and down: an inner rank sends it
twice. Of two ranks both are ends, which send and receive it once, as in a ring. NCCL's own figures (nccl_model.py) are
for its choice: they grow with the number of channels, which links do not.
"""

from functools import cache
from math import inf

from railgauge.topo.nccl.settings.algorithm import Algorithm, Protocol
from railgauge.topo.predict import calibration
from railgauge.topo.predict import nccl_constants as nccl
from railgauge.topo.predict.load import Fullest, of_channels
from railgauge.topo.predict.nccl_model import channels_most, generation, most_ll
from railgauge.topo.predict.network import spine_share
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.release import NEWEST, Since

RING, TREE = Algorithm.RING, Algorithm.TREE
LL, LL128, SIMPLE = Protocol.LL, Protocol.LL128, Protocol.SIMPLE
TREE_OF_RING = 0.92  # what NCCL counts of a tree's channels (`bus_gb_per_s`)


class Passing:
    """The throughput of a plan's channels; the load of links is computed once per algorithm."""

    def __init__(self, plan: NodePlan) -> None:
        self.plan = plan
        self.fullest = cache(self._fullest)

    def gb_per_s(self, algorithm: Algorithm, protocol: Protocol) -> float:
        """With a protocol."""
        found = self.channels(algorithm)
        reached = found * protocol_share(self.plan, algorithm, protocol)
        if protocol is not LL:
            return reached
        most = 2 * TREE_OF_RING if algorithm is TREE and self.plan.ranks == 2 else 1
        return min(reached, most * most_ll(self.plan))

    def channels(self, algorithm: Algorithm) -> float:
        """With any protocol."""
        planned = self.planned(algorithm, spine_share(self.plan, algorithm))
        return min(planned, self.running, self.fullest(algorithm).gb_per_s)

    def planned(self, algorithm: Algorithm, spines: float = 1.0) -> float:
        """The planned throughput, with spines that leave a share of the speed between nodes.

        A tree over two nodes (or parts of one) crosses once what its GPUs pass twice.
        """
        graph = self.plan.graph(algorithm)
        once = 2 if algorithm is TREE and self.plan.parts <= 2 else 1
        speed = graph.gb_per_s_intra
        if self.plan.leaves:
            speed = min(speed, graph.gb_per_s_inter * spines * once)
        return len(graph.channels) * speed

    @property
    def running(self) -> float:
        """The throughput of the channels that NCCL_MAX_NCHANNELS allows; no limit if it allows all."""
        most = channels_most(self.plan)
        left_out = not self.plan.on_host and most >= self.plan.steering.max_channels
        return most * calibration.CHANNEL_GB_PER_S if left_out else inf

    def _fullest(self, algorithm: Algorithm) -> Fullest:
        return of_channels(self.plan, algorithm)


def protocol_share(plan: NodePlan, algorithm: Algorithm, protocol: Protocol) -> float:
    """The throughput of a protocol by NCCL's factors (`bus_gb_per_s`) or maxima, whichever is lower."""
    ring = {LL: 0.5, LL128: min(0.92, _share(plan, nccl.RING_LL128_MOST)), SIMPLE: 1.0}[protocol]
    if algorithm is RING:
        return ring
    if plan.ranks == 2:
        return ring * TREE_OF_RING
    # with one GPU a node all trees are the same, whatever NCCL counts off for a plain one
    plain = plan.plain_tree and plan.per_node > 1
    simple = min(TREE_OF_RING * (0.85 if plain else 1.0), _share(plan, nccl.TREE_MOST))
    flagged = min(simple * (7 / 9 if plan.nodes == 1 else 120 / 128), _share(plan, nccl.TREE_LL128_MOST))
    return {LL: simple / 3.8, LL128: flagged, SIMPLE: simple}[protocol]


def _share(plan: NodePlan, most: Since[nccl.Most]) -> float:
    """A maximum, the newest figure, as a share of the channels it was measured on; within one node none is reached."""
    if plan.nodes == 1:
        return 1.0
    row = generation(plan)
    return nccl.most(most, NEWEST, row, plan.nodes) / nccl.MEASURED_ON[row]
