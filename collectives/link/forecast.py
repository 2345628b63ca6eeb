# SPDX-License-Identifier: Apache-2.0
"""The cost model's prediction for each pair of a round, from the busy ranks and shared interfaces at that time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from railgauge.collectives.cost.host_cost import message_cost
from railgauge.collectives.cost.host_ranks import BY_MEMORY, BY_SOCKET, HostRanks
from railgauge.collectives.link.tournament import Pair
from railgauge.collectives.link.way import Port, Way
from railgauge.collectives.tuning import MEDIA
from railgauge.transports.peer import Peer
from railgauge.transports.select import NET_SOCKET, SHM

OF_SOCKETS = 0.37
"""GB/s through sockets over those that a core copies in memory, on the slower of two hosts (4.7 of 12.6; 7.7 of 14)."""


LEAST_US = 10
"""Microseconds that a message takes whose GB/s can be foretold: of a shorter one they are mostly what its start takes,
which differs more between hosts than the model knows (64 KiB through memory: predicted 22 GB/s, measured 7 to 15).
"""


@dataclass(frozen=True, slots=True)
class PairForecast:
    """For one pair: GB/s of a long message, microseconds of a short one."""

    gb_per_s: float | None
    """None where an interface does not report its speed, or a message takes less than LEAST_US."""
    latency_us: float
    sharing: int
    """How many pairs use one of its interfaces, including itself."""
    crowded: bool
    """More ranks are busy on one of its hosts than that has cores."""


class Forecaster:
    """Predicts pairs of some ranks; sizes in bytes. `copy_gb_per_s`: what a core of these hosts copies, measured: in
    shared memory a pair passes no more, and hosts differ too much for a constant.
    """

    def __init__(
        self, peers: Sequence[Peer], ports: Sequence[Sequence[Port]], long: int, short: int, copy_gb_per_s: float
    ) -> None:
        self._hosts = [peer.host_id for peer in peers]
        self._ports = ports
        self._cores: dict[str, set[int]] = {}
        for peer in peers:
            self._cores.setdefault(peer.host_id, set()).update(peer.cpus)
        self._long, self._short = long, short
        sockets = min(BY_SOCKET.gb_per_s, OF_SOCKETS * copy_gb_per_s)
        self._media = {
            **MEDIA,
            SHM: replace(BY_MEMORY, gb_per_s=copy_gb_per_s),
            NET_SOCKET: replace(BY_SOCKET, gb_per_s=sockets),
        }

    def of_round(self, way: Way, pairs: Sequence[Pair]) -> dict[Pair, PairForecast]:
        """Predictions for all pairs that are measured at the same time."""
        at_work = Counter(self._hosts[rank] for pair in pairs for rank in pair)
        users = Counter(end for pair in pairs if way.crosses(*pair) for end in self._ends(way, pair))
        return {pair: self._of_pair(way, pair, at_work, users) for pair in pairs}

    def _of_pair(self, way: Way, pair: Pair, at_work: Counter[str], users: Counter[tuple[str, int]]) -> PairForecast:
        crosses = way.crosses(*pair)
        sharing = max(users[end] for end in self._ends(way, pair)) if crosses else 1
        speeds = [self._gb_per_s(way, rank) for rank in pair] if crosses else [inf]
        known = [speed for speed in speeds if speed]
        crowded = max((self._hosts[rank] for rank in pair), key=lambda host: at_work[host] / self._core_count(host))
        where = HostRanks(
            ranks=at_work[crowded],
            cores=self._core_count(crowded),
            net_gb_per_s=min(known, default=inf) / sharing,
            medium=self._media[way.transport],
        )
        long, short = (message_cost(where, size) for size in (self._long, self._short))
        is_known = len(known) == len(speeds) and long.time_us >= LEAST_US
        reaches = self._long / long.time_us / 1e3 if is_known else None
        return PairForecast(reaches, short.time_us, sharing, where.turns > 1)

    def _core_count(self, host: str) -> int:
        return max(1, len(self._cores[host]))

    def _ends(self, way: Way, pair: Pair) -> list[tuple[str, int]]:
        """The interfaces at both ends of a pair between hosts."""
        return [(self._hosts[rank], way.devices[rank] or 0) for rank in pair]

    def _gb_per_s(self, way: Way, rank: int) -> float | None:
        place = way.transport, way.devices[rank]
        port = next(port for port in self._ports[rank] if (port.transport, port.device) == place)
        return port.gb_per_s or None
