# SPDX-License-Identifier: Apache-2.0
"""What a step of a channel takes from the links it crosses, and what they have left.

Overheads are NCCL's (`followPath`, src/graph/search.cc): Intel CPUs send GPU traffic in small packets, 6/5 on PCI links
of a PHB path that starts at a GPU; a write into a GPU before sm 80 costs an eighth of the reverse link unless a GPU
sends it.
"""

from railgauge.topo.model import Link, LinkKind, Node, NodeKind, System
from railgauge.topo.paths import Path, Paths

INTEL_OVERHEAD = 6 / 5
REVERSE_SHARE = 1 / 8
REVERSE_BELOW_SM = 80
ROUNDING = 1e-3  # NCCL rounds to thousandths (SUB_ROUND)
Load = tuple[tuple[tuple[str, str, LinkKind], float], ...]


def way_out(system: System, rank: Node) -> float:
    """All that can leave a rank at once, in GB/s: no more rings than this has room for pass it."""
    first = system.links_of(rank.id)
    card = first[0].target if rank.kind is NodeKind.GPU and first else rank.id
    return sum(link.gb_per_s for link in system.links_of(card) if link.kind is not LinkKind.LOC)


def is_intel(system: System) -> bool:
    """Whether the first CPU is one of Intel's, whose PCI roots cut what GPUs send into small packets."""
    cpus = system.kind(NodeKind.CPU)
    return bool(cpus) and cpus[0].arch == "x86_64" and cpus[0].vendor == "GenuineIntel"


def in_small_packets(source: Node, path: Path) -> bool:
    """Whether a path is one that Intel's PCI roots cut: exactly PHB, from a GPU."""
    return path.type == "PHB" and source.kind is NodeKind.GPU


class Capacity:
    """The links' remaining GB/s, and the load of each possible step, found once."""

    def __init__(self, system: System, table: Paths) -> None:
        self.left = {_key(link): link.gb_per_s for link in system.links}
        self._system = system
        self._paths = table
        self._loads: dict[tuple[str, str], Load | None] = {}
        self._intel = is_intel(system)

    def path(self, source: Node, target: Node) -> Path:
        """The path of a step."""
        return self._paths.get(source.id, target.id)

    def load(self, source: Node, target: Node) -> Load | None:
        """(link, load per GB/s) of a step; None without a path."""
        key = (source.id, target.id)
        if key not in self._loads:
            path = self._paths.get(*key)
            self._loads[key] = None if path.type == "DIS" else self._load(source, path)
        return self._loads[key]

    def _load(self, source: Node, path: Path) -> Load:
        total: dict[tuple[str, str, LinkKind], float] = {}
        small = self._intel and in_small_packets(source, path)
        for link in path.links:
            cost = INTEL_OVERHEAD if small and link.kind is LinkKind.PCI else 1.0
            total[_key(link)] = total.get(_key(link), 0.0) + cost
            target = self._system.node(link.target)
            old = target.kind is NodeKind.GPU and (target.sm or 0) < REVERSE_BELOW_SM
            if old and source.kind is NodeKind.NET:
                back = (link.target, link.source, link.kind)
                total[back] = total.get(back, 0.0) + cost * REVERSE_SHARE
        return tuple(total.items())

    def fits(self, load: Load, speed: float) -> bool:
        """Whether every link has room for a step at `speed` GB/s."""
        left = self.left
        return all(left[link] >= cost * speed - ROUNDING for link, cost in load)

    def take(self, load: Load, speed: float) -> None:
        """Charge a step; a negative speed gives it back."""
        for link, cost in load:
            self.left[link] -= cost * speed

    def room(self, load: Load) -> float:
        """The most GB/s that a step could have now."""
        return min((self.left[link] / cost for link, cost in load), default=float("inf"))


def _key(link: Link) -> tuple[str, str, LinkKind]:
    return link.source, link.target, link.kind
