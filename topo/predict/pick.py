# SPDX-License-Identifier: Apache-2.0
"""The best GPUs for a job on a shared machine.

Of all subsets of the free GPUs: the most ring bandwidth, then the nearest NICs and the fastest paths to them, then the
best rest: most ring bandwidth left, and the fewest other GPUs that share a NIC or a NUMA node with the job. All
bandwidths are what links run at.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

from railgauge.topo.channels.gpu_affinity import GpuAffinity
from railgauge.topo.channels.ring_limit import ring_limit
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.nccl.graph.model import PATH_TYPES, Node, System
from railgauge.topo.nccl.graph.subset import with_gpus
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import Paths, paths
from railgauge.topo.nccl.settings.steering import Steering
from railgauge.topo.predict.search import search
from railgauge.topo.xml.topology import Topology

SEARCHES = 16  # subsets whose channels are searched; of more subsets, one of each kind is
MOST_SUBSETS = 20_000  # 8 of 16 are 12,870; 20 of 72 would be 10 ** 17
DIGITS = 3  # significant digits of a speed
DEFAULTS = Steering()


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuChoice:
    """A subset of the free GPUs, by number, and its merits.

    `ring_gb_per_s` of all its ring channels (None: one GPU has no ring), `limit_gb_per_s` the upper bound,
    `net_types` the path types to each GPU's nearest NIC, `left` the GPUs that stay free, `left_limit_gb_per_s` the
    limit on a ring over those, `net_gb_per_s` what the paths to the nearest NICs run at together, `shared` how many
    pairs of a GPU in it and another share a NIC or a NUMA node.
    """

    gpus: tuple[Node, ...]
    ring_gb_per_s: float | None
    limit_gb_per_s: float | None
    net_types: tuple[str, ...]
    left: tuple[Node, ...]
    left_limit_gb_per_s: float | None
    shared: int
    net_gb_per_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """The best choice, and the next best of those that were searched.

    `left_ring_gb_per_s`: the rings over the GPUs that stay free, None for fewer than two. `subsets`: number in all,
    `searched`: number searched.
    """

    best: GpuChoice
    next_best: GpuChoice | None
    left_ring_gb_per_s: float | None
    subsets: int
    searched: int


def pick(
    topology: Topology,
    count: int,
    *,
    busy: Iterable[Node] = (),
    nodes: int = 1,
    steering: Steering = DEFAULTS,
    p2p: bool = True,
    denied: frozenset[tuple[str, str]] = frozenset(),
) -> Pick:
    """The best `count` GPUs of a machine besides the `busy` ones, for a job of one of `nodes` equal nodes.

    UsageError if fewer are free, or the file has several hosts; UnavailableError without GPUs or a path between them.
    """
    picking = _Picking(topology, nodes, steering, p2p, denied)
    free = picking.free(count, {gpu.id for gpu in busy})
    ranked = sorted(picking.candidates(free, count), key=_promise)
    searched: list[GpuChoice] = []
    for candidate in ranked:
        best = min(searched, key=_merit, default=None)
        if len(searched) > 1 and best and (len(searched) >= SEARCHES or _promise(candidate) >= _merit(best)):
            break
        searched.append(picking.searched(candidate))
    order = sorted(searched, key=_merit)
    if order[0].ring_gb_per_s == 0.0:
        picking.ring(order[0].gpus)  # says what is missing
    return Pick(
        best=order[0],
        next_best=order[1] if len(order) > 1 else None,
        left_ring_gb_per_s=picking.ring_or_none(order[0].left, 1),
        subsets=comb(len(free), count),
        searched=len(searched),
    )


def _merit(choice: GpuChoice) -> tuple[float, ...]:
    return _key(choice, choice.ring_gb_per_s)


def _promise(choice: GpuChoice) -> tuple[float, ...]:
    """The best merit a choice can have; while it is less than another's merit, the choice may still win."""
    return _key(choice, choice.limit_gb_per_s)


def _key(choice: GpuChoice, ring: float | None) -> tuple[float, ...]:
    """Smaller is better."""
    far = sum(map(PATH_TYPES.index, choice.net_types))
    numbers = [float(gpu.device_number) for gpu in choice.gpus]
    return (-_rank(ring), far, -_rank(choice.net_gb_per_s), -_rank(choice.left_limit_gb_per_s), choice.shared, *numbers)


def _rank(gb_per_s: float | None) -> float:
    """A speed rounded to DIGITS, so that rounding of a channel's speed makes no difference."""
    return 0.0 if gb_per_s is None else float(f"{gb_per_s:.{DIGITS}g}")


def same(one: float | None, other: float | None) -> bool:
    """Whether two speeds rank the same."""
    return _rank(one) == _rank(other)


class _Picking:
    """The machine, and the merits of its subsets."""

    def __init__(
        self, topology: Topology, nodes: int, steering: Steering, p2p: bool, denied: frozenset[tuple[str, str]]
    ) -> None:
        self._topology, self._nodes = topology, nodes
        self._steering, self._p2p, self._denied = steering, p2p, denied
        system = build_system(topology)
        self._gpus = system.gpus
        self._at = {gpu.id: 1 << i for i, gpu in enumerate(self._gpus)}
        self._affinity = GpuAffinity(system, self._paths(system))

    def _paths(self, system: System) -> Paths:
        return paths(system, p2p=self._p2p, levels=self._steering.levels, denied=self._denied)

    def free(self, count: int, busy: set[str]) -> tuple[Node, ...]:
        """The GPUs to choose from, by number."""
        if not self._gpus:
            raise UnavailableError("no GPU to pick from on this machine: use --from to name another one")
        if len({gpu.system for gpu in self._gpus}) > 1:
            raise UsageError("the file has GPUs of several hosts, but pick works on one: give a file of that host")
        free = tuple(sorted((gpu for gpu in self._gpus if gpu.id not in busy), key=lambda gpu: gpu.device_number))
        if not 1 <= count <= len(free):
            names = " ".join(f"GPU{gpu.dev}" for gpu in free) or "none"
            raise UsageError(f"-n {count}: {len(free)} of {len(self._gpus)} GPUs are free: {names}")
        if comb(len(free), count) > MOST_SUBSETS:
            raise UsageError(
                f"{len(free)} GPUs have more than {MOST_SUBSETS} subsets of {count}: exclude some with --busy"
            )
        return free

    def candidates(self, free: tuple[Node, ...], count: int) -> list[GpuChoice]:
        """All subsets; if they are too many to search, the first of each kind."""
        subsets = list(combinations(free, count))
        whole = self._bits(free)
        if len(subsets) > SEARCHES:
            kinds: dict[object, tuple[Node, ...]] = {}
            for subset in subsets:
                kinds.setdefault(self._affinity.kind(self._bits(subset), whole), subset)
            subsets = list(kinds.values())
        return [self._candidate(subset, free) for subset in subsets]

    def _candidate(self, gpus: tuple[Node, ...], free: tuple[Node, ...]) -> GpuChoice:
        left = tuple(gpu for gpu in free if gpu not in gpus)
        return GpuChoice(
            gpus=gpus,
            ring_gb_per_s=None,
            limit_gb_per_s=self._limit(gpus, self._nodes),
            net_types=tuple(kind for gpu in gpus if (kind := self._affinity.net_type(gpu))),
            net_gb_per_s=sum(map(self._affinity.net_gb_per_s, gpus)),
            left=left,
            left_limit_gb_per_s=self._limit(left, 1),
            shared=self._affinity.shared(self._bits(gpus)),
        )

    def _limit(self, gpus: Sequence[Node], nodes: int) -> float | None:
        """The quick limit on the rings over some GPUs; None for one GPU alone."""
        if len(gpus) + nodes <= 2:
            return None
        system = build_system(with_gpus(self._topology, gpus))
        return ring_limit(system, self._paths(system), nodes)

    def searched(self, choice: GpuChoice) -> GpuChoice:
        """The choice with its rings searched; 0 GB/s without rings."""
        return replace(choice, ring_gb_per_s=self.ring_or_none(choice.gpus, self._nodes))

    def ring_or_none(self, gpus: Sequence[Node], nodes: int) -> float | None:
        """GB/s of the rings over some GPUs; 0 without rings, None for one GPU alone."""
        if len(gpus) + nodes <= 2:
            return None
        try:
            return self.ring(gpus, nodes)
        except UnavailableError:
            return 0.0

    def ring(self, gpus: Sequence[Node], nodes: int | None = None) -> float:
        """GB/s of the rings over some GPUs; UnavailableError with the reason without rings."""
        system = build_system(with_gpus(self._topology, gpus))
        asked = nodes or self._nodes
        found = search(system, nodes=asked, steering=self._steering, p2p=self._p2p, denied=self._denied).ring
        return found.real_total(2 if any(channel.nets for channel in found.channels) else asked)

    def _bits(self, gpus: Iterable[Node]) -> int:
        return sum(self._at[gpu.id] for gpu in gpus)
