# SPDX-License-Identifier: Apache-2.0
"""One rank's part in the measurement of a pair: short and long messages timed, every byte of fresh ones verified."""

from dataclasses import dataclass

from railgauge._native import collectives as native
from railgauge.collectives.buffer import Buffer
from railgauge.collectives.dtype import Dtype, PatternKind, Redop
from railgauge.collectives.link.link_job import AHEAD, LinkJob
from railgauge.collectives.link.pair_connection import PairConnections, Traffic
from railgauge.collectives.verification import Verification

LEAST_COPY_BYTES, MOST_COPY_BYTES, COPIES = 8 << 20, 64 << 20, 8
"""More than a core's own caches hold: what two cores exchange goes past them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One rank's results of a pair; seconds are for one message."""

    rank: int
    peer: int
    out_s: float
    """It sends, the peer receives."""
    both_s: float
    """Both send."""
    there_and_back_s: float | None
    """A short round trip; known to the rank that started it."""
    wrong: int
    """Received bytes that differ from those sent."""
    first_wrong: str | None
    via: str
    planned: str
    bytes_sent: int
    bytes_received: int

    def is_of(self, rank: int) -> bool:
        """Whether a rank can have seen it."""
        return self.rank == rank and self.out_s > 0 and self.both_s > 0


class PairMeter:
    """Measures this rank's pairs, one after another."""

    def __init__(self, job: LinkJob, rank: int, ranks: int) -> None:
        self._job = job
        self._rank = rank
        self._ranks = ranks
        size = max(job.bytes, job.latency_bytes)
        self._source, self._destination = Buffer(size), Buffer(size)
        self._source.poison(size)  # unwritten pages all map the same zero page
        self._armed = False
        self.fault_fired = False

    def copy_gb_per_s(self) -> float:
        """What this rank's core copies in memory."""
        size = min(max(self._job.bytes, LEAST_COPY_BYTES), MOST_COPY_BYTES)
        source, destination = Buffer(size), Buffer(size)
        source.poison(size)
        return size / native.memory_floor(source.memory, size, destination.memory, size, COPIES) / 1e9

    def measure(self, connections: PairConnections, peer: int, seed: int) -> Side:
        """Measure the pair with `peer`, which calls it with the same seed: never the same data twice.

        Raises:
            RunError: the peer was lost, or nothing moved within the timeout.
        """
        long, short = self._job.bytes, self._job.latency_bytes
        asks = self._rank < peer
        answered, out, _, both = (
            min(each) for each in zip(*(self._turn(connections, peer) for _ in range(self._job.turns)), strict=True)
        )
        self._armed = self._armed or connections.arm_fault()
        verdicts = [
            self._check(connections, peer, size, 2 * seed + number) for number, size in enumerate((short, long))
        ]
        self.fault_fired = self.fault_fired or connections.fault_fired()
        wrong = [one for one in verdicts if one.wrong]
        sent = next((wire, end) for wire, end in connections.ends.items() if wire.source == self._rank)
        received = next(end for wire, end in connections.ends.items() if wire.target == self._rank)
        return Side(
            rank=self._rank,
            peer=peer,
            out_s=out,
            both_s=both,
            there_and_back_s=answered if asks else None,
            wrong=sum(one.wrong for one in wrong),
            first_wrong=str(wrong[0]) if wrong else None,
            via=sent[1].via,
            planned=sent[0].planned,
            bytes_sent=sent[1].bytes,
            bytes_received=received.bytes,
        )

    def _turn(self, connections: PairConnections, peer: int) -> tuple[float, float, float, float]:
        """Seconds of a short round trip, of a long message out and of one in, and of both at once."""

        def seconds(traffic: Traffic, size: int, times: int) -> float:
            source, destination = self._source.memory, self._destination.memory
            return connections.seconds(peer, traffic, source, destination, size, ahead=AHEAD, times=times)

        long, n = self._job.bytes, self._job.times
        asks = self._rank < peer
        answered = seconds(Traffic.ASK if asks else Traffic.ANSWER, self._job.latency_bytes, self._job.short_times)
        one_way = {
            traffic: seconds(traffic, long, n)
            for traffic in ((Traffic.SEND, Traffic.RECEIVE) if asks else (Traffic.RECEIVE, Traffic.SEND))
        }
        return answered, one_way[Traffic.SEND], one_way[Traffic.RECEIVE], seconds(Traffic.BOTH, long, n)

    def _check(self, connections: PairConnections, peer: int, size: int, seed: int) -> Verification:
        """Exchange random bytes, and compare each with the one that the peer sent."""
        kind = PatternKind.RANDOM
        pattern = native.Pattern(self._ranks, Dtype.UINT8, Redop.SUM, seed, kind)
        native.fill_pattern(pattern, self._rank, self._source.memory, size)
        self._destination.poison(size)
        connections.seconds(peer, Traffic.BOTH, self._source.memory, self._destination.memory, size)
        return Verification(kind, *native.check_copied(pattern, peer, self._destination.memory, size))
