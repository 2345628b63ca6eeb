# SPDX-License-Identifier: Apache-2.0
"""One rank's part in measuring links: a tournament over each transport, then some pairs again, alone, while it is
unclear which rank or link is slow.

All ranks do it together. Between two rounds all ranks exchange the results of the last one, which is also the barrier.
"""

from collections.abc import Callable, Sequence

from railgauge.collectives.binding import bound
from railgauge.collectives.link.bisection import LEAST_RANKS, bisect
from railgauge.collectives.link.forecast import Forecaster, PairForecast
from railgauge.collectives.link.judgement import to_measure_again
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.link_result import LinkResult, RankPlace
from railgauge.collectives.link.pair_connection import PairConnections
from railgauge.collectives.link.pair_meter import PairMeter, Side
from railgauge.collectives.link.pair_result import Moved, PairResult, PairSample
from railgauge.collectives.link.placement import Placement, placements
from railgauge.collectives.link.tournament import Pair
from railgauge.collectives.link.way import Port, Way, own_ports, ways
from railgauge.topo.errors import RunError, UnavailableError, UsageError, VerificationError
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.fault import Fault
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import Network, choose_network
from railgauge.transports.peer import Peer, this_peer
from railgauge.transports.peers import exchange

Say = Callable[[str], None]
ROUND_WITHIN_S = 3600.0
"""How long ranks wait for a pair over a slow link, in seconds. One that does not answer, or whose bytes do not move,
ends the run long before.
"""


def measure(bootstrap: Bootstrap, job: LinkJob, result: LinkResult, say: Say) -> None:
    """Measure as this rank of the job; all ranks call it together, and `result` grows meanwhile on each of them.

    `say` takes lines of progress.

    Raises:
        UsageError: the request names an unknown rank or transport. UnavailableError: no transport connects them.
        VerificationError: received bytes differ from those sent; the result is complete.
        RunError: a rank was lost or disagrees, or a connection used another transport than planned.
    """
    peers = exchange(bootstrap, this_peer(bootstrap.rank, flags=job.agreed()))
    _check_ranks(job, len(peers))
    network = choose_network(bootstrap, peers, NcclLog(bootstrap.rank), always=True)
    ports = bootstrap.all_gather(own_ports(network), list[Port])
    placed = placements(bootstrap, peers, job.save_capture)
    result.ranks = [RankPlace(rank=peer.rank, host=peer.host, numa=placed[peer.rank][1]) for peer in peers]
    with bound(peers, bootstrap.rank, placed[bootstrap.rank][0]):
        if job.bisect:
            result.bisection = bisect(bootstrap, peers, network, job, say)
        else:
            _Measurement(bootstrap, job, peers, network, ports, placed, say).into(result)


def _check_ranks(job: LinkJob, ranks: int) -> None:
    if ranks < 2:
        raise UsageError("at least two ranks are needed: use --ranks 2, or start it on several hosts")
    if job.pair and job.pair[1] >= ranks:
        raise UsageError(f"rank {job.pair[1]}: ranks are 0 to {ranks - 1}")
    if job.fault and job.fault.rank >= ranks:
        raise UsageError(f"--fault names rank {job.fault.rank}: ranks are 0 to {ranks - 1}")
    if job.bisect and ranks < LEAST_RANKS:
        raise UsageError(f"--bisect with {ranks} ranks: it needs at least {LEAST_RANKS}")
    if job.bisect and job.bytes < ranks:
        raise UsageError(f"-b {job.bytes}: a ring of {ranks} ranks needs at least one byte for each rank")


class _Measurement:
    def __init__(
        self,
        bootstrap: Bootstrap,
        job: LinkJob,
        peers: Sequence[Peer],
        network: Network,
        ports: Sequence[Sequence[Port]],
        placed: Sequence[Placement],
        say: Say,
    ) -> None:
        self._bootstrap = bootstrap
        self._job = job
        self._peers = peers
        self._network = network
        self._placements = placed
        self._say = say
        self._ways = ways(peers, ports, job.transport, network.why_not_ib)
        self._meter = PairMeter(job, bootstrap.rank, bootstrap.world_size)
        copies = max(bootstrap.all_gather(self._meter.copy_gb_per_s(), float))
        self._forecaster = Forecaster(peers, ports, job.bytes, job.latency_bytes, copies)
        self._exchanges = 0
        self._first_wrong: str | None = None

    def into(self, result: LinkResult) -> None:
        """Measure everything; results so far are kept even if it raises."""
        rounds = self._job.rounds(len(self._peers))
        for channel, way in enumerate(self._ways):
            for number, pairs in enumerate(rounds):
                self._say(f"{way.transport}: round {number + 1} of {len(rounds)}")
                joined = [pair for pair in pairs if way.joins(*pair)]
                result.links += self._round(channel, way, number, joined)
        if not result.links:
            raise UnavailableError("no requested transport connects these two ranks: `railgauge run --list` shows why")
        number = len(rounds)
        while places := self._again(result):
            self._say(f"not clear yet: measuring {len(places)} pairs again, one at a time")
            for place in places:
                one = result.links[place]
                channel, way = next((c, w) for c, w in enumerate(self._ways) if (w.transport, w.rail, None) == one.way)
                result.links[place] = one.and_again(self._round(channel, way, number, [one.ranks])[0])
                number += 1
        self._conclude()

    def _again(self, result: LinkResult) -> list[int]:
        """The places of the links that rank 0 wants to see once more."""
        places: list[int] = self._bootstrap.broadcast(to_measure_again(result.links), list[int])
        if not all(0 <= place < len(result.links) for place in places):
            raise self._bootstrap.junk(0)
        return places

    def _round(self, channel: int, way: Way, number: int, pairs: list[Pair]) -> list[PairResult]:
        """Measure pairs that have no rank in common at the same time."""
        if not pairs:
            return []
        connections = PairConnections(self._bootstrap, self._peers, way, self._network, channel, pairs, self._fault)
        own = next((pair for pair in pairs if self._bootstrap.rank in pair), None)
        side = None
        self._bootstrap.barrier()
        self._exchanges += 1
        if own:
            peer = own[1] if own[0] == self._bootstrap.rank else own[0]
            side = self._meter.measure(connections, peer, seed=self._exchanges)
        sides = self._bootstrap.all_gather(side, Side | None, ROUND_WITHIN_S)
        connections.close()
        for rank in (rank for pair in pairs for rank in pair):
            if not sides[rank] or not sides[rank].is_of(rank):
                raise self._bootstrap.junk(rank)
        forecasts = self._forecaster.of_round(way, pairs)
        return [self._joined(way, number, forecasts[a, b], sides[a], sides[b]) for a, b in pairs]

    @property
    def _fault(self) -> Fault | None:
        """The fault that has not occurred yet: it is injected in the first exchange of its rank on its channel."""
        return None if self._meter.fault_fired else self._job.fault

    def _joined(self, way: Way, number: int, forecast: PairForecast, low: Side, high: Side) -> PairResult:
        long = self._job.bytes
        numa = [self._placements[side.rank][1] for side in (low, high)]
        for side in (low, high):
            self._check(side)
        return PairResult(
            ranks=(low.rank, high.rank),
            transport=way.transport,
            rail=way.rail,
            crosses=way.crosses(low.rank, high.rank),
            one_numa=not way.crosses(low.rank, high.rank) and numa[0] == numa[1] is not None,
            round=number,
            sharing=forecast.sharing,
            crowded=forecast.crowded,
            samples=(
                PairSample(
                    (long / low.out_s / 1e9, long / high.out_s / 1e9),
                    long / max(low.both_s, high.both_s) / 1e9,
                    (low.there_and_back_s or 0.0) / 2 * 1e6,
                ),
            ),
            predicted_gb_per_s=forecast.gb_per_s,
            predicted_latency_us=forecast.latency_us,
            via=(low.via, high.via),
            planned=(low.planned, high.planned),
            wrong=(high.wrong, low.wrong),
            moved=Moved(
                self._job.bytes_each_way,
                sent=(low.bytes_sent, high.bytes_sent),
                received=(high.bytes_received, low.bytes_received),
            ),
        )

    def _check(self, side: Side) -> None:
        """Check that all bytes used the planned transport and have the planned amount; wrong bytes are reported at the
        end.
        """
        if side.via != side.planned:
            raise RunError(f"rank {side.rank} to {side.peer} went via {side.via}, planned: {side.planned}")
        if not side.bytes_sent == side.bytes_received == self._job.bytes_each_way:
            raise RunError(
                f"rank {side.rank} sent {side.bytes_sent} bytes to rank {side.peer} and received "
                f"{side.bytes_received}, expected {self._job.bytes_each_way} in each direction"
            )
        if side.first_wrong and not self._first_wrong:
            from_whom = f"from rank {side.peer} over {side.via}"
            self._first_wrong = f"rank {side.rank}: {side.wrong} bytes {from_whom} are wrong: {side.first_wrong}"

    def _conclude(self) -> None:
        fired = self._bootstrap.all_gather(self._meter.fault_fired, bool)
        if self._first_wrong:
            raise VerificationError(self._first_wrong)
        if self._job.fault and not any(fired):
            raise RunError("the injected fault did not occur: that rank sends no such message on that channel")
