# SPDX-License-Identifier: Apache-2.0
"""How each collective is run, by size: which algorithm, over how many channels, by which protocol.

The quickest is chosen, by the cost model that `graph predict` shows too or by the times of `run --tune`, among those
that can run here and that NCCL_ALGO allows. NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS bound the channels.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from railgauge.collectives.cost.host_choice import (
    MIN_CHANNEL_BYTES,
    Times,
    candidates,
    channels_used,
    quickest,
    quickest_by_model,
)
from railgauge.collectives.cost.host_cost import ON_SEGMENTS, ll_up_to
from railgauge.collectives.cost.host_ranks import BY_MEMORY, BY_RDMA, BY_SOCKET, HostRanks, Medium
from railgauge.collectives.operation import NUMBERS
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.nccl.settings.algorithms import Allowed, read_allowed
from railgauge.topo.nccl.settings.steering import Steering, read_steering
from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_IB, NET_SOCKET, SHM, sharing_memory

ALGORITHMS = (
    Algorithm.RING,
    Algorithm.TREE,
    Algorithm.ONE_SHOT,
    Algorithm.TWO_SHOT,
    Algorithm.PAIRS,
    Algorithm.RECURSIVE_DOUBLING,
    Algorithm.RECURSIVE_HALVING,
    Algorithm.HIERARCHICAL,
)
"""In the order of the native engine's numbers (collectives/native/host_engine.h)."""
RUN_BY = (*ALGORITHMS, Algorithm.ZERO_COPY)
"""The same, and the one that replaces them if the arrays allow it (zero_copy.py)."""
PROTOCOLS = (Protocol.SIMPLE, Protocol.LL)
"""In the order of the native engine's numbers (collectives/native/direct.h)."""
MEDIA = {SHM: BY_MEMORY, NET_SOCKET: BY_SOCKET, NET_IB: BY_RDMA}
"""The cost model's name of a transport."""
NO_SETTINGS = read_allowed({})


@dataclass(frozen=True, slots=True)
class Choice:
    """Operations of up to `up_to_bytes` use this algorithm, over that many channels of a ring or tree."""

    up_to_bytes: int
    algorithm: Algorithm
    channels: int
    protocol: Protocol = Protocol.SIMPLE

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """As the native engine takes it."""
        return self.up_to_bytes, ALGORITHMS.index(self.algorithm), self.channels, PROTOCOLS.index(self.protocol)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningScope:
    """What can be chosen from."""

    ranks: int
    nodes: int
    rings: int
    trees: int
    hosts: tuple[int, ...]
    """How many ranks of each host share memory."""
    only: Algorithm | None
    """The algorithm for everything that it can run."""
    cores: int
    """Cores that the ranks of a node have together."""
    net_gb_per_s: float
    """Bandwidth of all channels together from one node to the next."""
    interfaces: int = 1
    """The number of interfaces of a node that they use."""
    medium: Medium = BY_SOCKET
    """The transport between nodes."""

    @classmethod
    def of(
        cls,
        peers: Sequence[Peer],
        *,
        rings: int,
        trees: int,
        only: Algorithm | None = None,
        net_gb_per_s: float = inf,
        interfaces: int = 1,
        medium: Medium = BY_SOCKET,
    ) -> "TuningScope":
        """For ranks that have exchanged their facts; uses the node with the fewest cores."""
        cores: dict[str, set[int]] = {}
        for peer in peers:
            cores.setdefault(peer.host_id, set()).update(peer.cpus)
        return cls(
            ranks=len(peers),
            nodes=len(cores),
            rings=rings,
            trees=trees,
            hosts=tuple(len(host) for host in sharing_memory(peers)),
            only=only,
            cores=max(1, min(len(each) for each in cores.values())),
            net_gb_per_s=net_gb_per_s,
            interfaces=interfaces,
            medium=medium,
        )

    @property
    def one_host(self) -> bool:
        """Whether all ranks share memory."""
        return len(self.hosts) == 1

    @property
    def host_ranks(self) -> HostRanks:
        """As the cost model takes it."""
        return HostRanks(
            ranks=self.ranks,
            nodes=self.nodes,
            cores=self.cores,
            net_gb_per_s=self.net_gb_per_s,
            interfaces=self.interfaces,
            medium=self.medium,
        )


def choose(
    setting: TuningScope, environ: Mapping[str, str], measured: Mapping[Collective, Times] | None = None
) -> dict[Collective, list[Choice]]:
    """The choices for every collective, by growing size; the last one is for all larger sizes.

    `environ` has NCCL_ALGO and others. `measured` times (tuning_file.py) replace the model, for algorithms that may be
    used.

    Raises:
        UsageError: NCCL_ALGO or NCCL_PROTO is a value that NCCL would reject.
    """
    allowed, steering = read_allowed(environ), read_steering(environ)
    found = {}
    for collective in NUMBERS:
        usable = usable_for(collective, setting, allowed)
        known = (measured or {}).get(collective, {})
        times = {one: known[one] for one in usable if known.get(one)}
        runs = quickest(times) if times else quickest_by_model(setting.host_ranks, collective, tuple(usable))
        by_ll = Algorithm.ONE_SHOT in usable and allowed.protocol(collective, Protocol.LL, trusted=True)
        short = ll_up_to(collective, setting.ranks) if by_ll else 0
        if short and not allowed.protocol(collective, Protocol.SIMPLE, trusted=True):
            runs = [(short, Algorithm.ONE_SHOT), *(run for run in runs if run[0] > short)]
        found[collective] = list(_with_protocol(_with_channels(runs, setting, steering), short))
    return found


def _with_protocol(choices: Iterable[Choice], short: int) -> Iterator[Choice]:
    """Exchanges through shared segments of up to `short` bytes use LL."""
    start = 1
    for choice in choices:
        if choice.algorithm is Algorithm.ONE_SHOT and start <= short:
            yield replace(choice, up_to_bytes=min(choice.up_to_bytes, short), protocol=Protocol.LL)
        if choice.algorithm is not Algorithm.ONE_SHOT or choice.up_to_bytes > short:
            yield choice
        start = choice.up_to_bytes + 1


def _with_channels(runs: Iterable[tuple[int, Algorithm]], setting: TuningScope, steering: Steering) -> Iterator[Choice]:
    """The choices of ranges that each reach up to a size: split where one more channel pays off."""
    start = 0
    for up_to, algorithm in runs:
        there = {Algorithm.RING: setting.rings, Algorithm.TREE: setting.trees}.get(algorithm, 1)
        most = min(there, steering.max_channels)
        least = min(max(1, steering.min_channels), most)
        for channels in range(least, most):
            full = (channels + 1) * MIN_CHANNEL_BYTES - 1
            if start <= full < up_to:
                yield Choice(full, algorithm, channels)
        yield Choice(up_to, algorithm, max(least, channels_used(up_to, most)))
        start = up_to + 1


def usable_for(collective: Collective, setting: TuningScope, allowed: Allowed = NO_SETTINGS) -> list[Algorithm]:
    """The algorithms that may run it: `only` if it can, else a similar one; never empty."""
    trees = setting.trees > 0
    if setting.only is None:
        return candidates(collective, allowed, setting.hosts, trees=trees)
    there = candidates(collective, NO_SETTINGS, setting.hosts, trees=trees)
    like = [one for one in there if (one in ON_SEGMENTS) == (setting.only in ON_SEGMENTS)]
    return [setting.only] if setting.only in there else (like or there)[:1]


def uses(choices: Mapping[Collective, list[Choice]], algorithm: Algorithm) -> bool:
    """Whether any choice uses it."""
    return any(choice.algorithm is algorithm for found in choices.values() for choice in found)
