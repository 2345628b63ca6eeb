# SPDX-License-Identifier: Apache-2.0
"""Random wirings as the native searches take them, without a machine behind: any steps over any links."""

from dataclasses import dataclass
from itertools import pairwise, permutations, product

from hypothesis import strategies as st

from railgauge import _native

SYS, DIS = 9, 11  # PATH_TYPES by rank
RING, BALANCED_TREE, TREE = 4, 1, 3


@dataclass(frozen=True)
class Case:
    """GB/s of the links, and for each step between two ends the links that it takes."""

    gpus: int
    nets: int
    speeds: tuple[float, ...]
    ways: dict[tuple[int, int], tuple[int, ...]]

    def native(self):
        ends = self.gpus + self.nets
        return _native.topo.Wiring(
            links=[(speed, True) for speed in self.speeds],
            gpus=[(rank, 0, 0, list(range(self.nets))) for rank in range(self.gpus)],
            nets=[(net, 1, 25.0, 0.0, 0, [0]) for net in range(self.nets)],
            steps=[self._step(a, b) for a in range(ends) for b in range(ends)],
            leaves=self.nets > 0,
            switched=False,
            several_hosts=False,
            most_nets=64,
            amd=False,
            least_sm=80,
            cards=self.gpus,
            most_gb_per_s=100.0,
            card_gb_per_s=100.0,
        )

    def _step(self, a, b):
        way = self.ways.get((a, b))
        return (DIS, 0.0, False, []) if way is None else (SYS, 1.0, False, [(link, -1, 0) for link in way])

    def with_more(self, link, gb_per_s):
        speeds = list(self.speeds)
        speeds[link] += gb_per_s
        return Case(self.gpus, self.nets, tuple(speeds), self.ways)

    def load(self, pattern, channel):
        """GB/s that each link carries of a channel of 1 GB/s."""
        gpus, entry, leave = channel
        steps = [(a, b, 1.0) for a, b in pairwise(gpus)]
        if not self.nets:
            steps += [(gpus[-1], gpus[0], 1.0)] if pattern == RING else []
        else:
            senders = {RING: gpus[-1:], TREE: gpus[:1], BALANCED_TREE: gpus[:2]}[pattern]
            steps.append((self.gpus + entry, gpus[0], 1.0))
            steps += [(gpu, self.gpus + leave, 1.0 / len(senders)) for gpu in senders]
        total = [0.0] * len(self.speeds)
        for a, b, share in steps:
            for link in self.ways[a, b]:
                total[link] += share
        return total

    def channels(self, pattern):
        """All that there could be."""
        ends = product(range(self.nets), repeat=2) if self.nets else [(-1, -1)]
        return [
            (order, *pair)
            for pair in ends
            if pattern != TREE or pair[0] == pair[1]
            for order in permutations(range(self.gpus))
        ]


@st.composite
def cases(draw, most_gpus=5):
    gpus, nets, links = draw(st.integers(2, most_gpus)), draw(st.integers(0, 2)), draw(st.integers(2, 8))
    ends = range(gpus + nets)
    speeds = draw(st.lists(st.sampled_from([0.3, 5.0, 12.0, 20.0, 24.0, 46.2]), min_size=links, max_size=links))
    way = st.lists(st.integers(0, links - 1), min_size=1, max_size=3, unique=True).map(tuple)
    pairs = [(a, b) for a in ends for b in ends if a != b and min(a, b) < gpus]
    return Case(gpus, nets, tuple(speeds), {pair: draw(way) for pair in pairs})


patterns = st.sampled_from([RING, BALANCED_TREE, TREE])
