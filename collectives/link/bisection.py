# SPDX-License-Identifier: Apache-2.0
"""Find one slow node by bisection: each half runs a ring, and the slower half is halved again.

It needs 2 x log2(N) measurements, while all pairs need N - 1 rounds; a ring is as fast as its slowest link. It finds a
single slow node. If both halves are equally fast there is none, or one in each.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from railgauge._native import collectives as native
from railgauge.collectives.buffer import Buffer
from railgauge.collectives.case import OperationCase
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.connections import ring_steps
from railgauge.collectives.dtype import Dtype, PatternKind, Redop
from railgauge.collectives.link.link_job import AHEAD, LinkJob
from railgauge.collectives.link.odd import LEAST_LOSS
from railgauge.collectives.verification import verify
from railgauge.topo.errors import VerificationError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.network import Network
from railgauge.transports.peer import Peer

LEAST_RANKS = 4
"""Two halves of two."""
TURNS = 2
"""Both halves are measured this often in turn, and the best is used: other load is not a slow node."""


@dataclass(frozen=True, slots=True)
class Half:
    """Ranks of a ring, and the bandwidth of each of its links, in GB/s."""

    ranks: list[int]
    gb_per_s: float


@dataclass(frozen=True, slots=True)
class Bisection:
    """Both halves of each step, and the remaining ranks: one slow rank, several that are slow only together, or
    none.
    """

    steps: list[tuple[Half, Half]]
    slow: list[int]
    crowded: bool = False
    """A half had more ranks on a host than that has cores, which limits the ring's speed."""

    @property
    def last_ratio(self) -> float:
        """The slower half's speed over the faster one's, in the last step in which they differed."""
        told = [ratio(step) for step in self.steps if ratio(step) < 1 - LEAST_LOSS]
        return told[-1] if told else 1.0


def ratio(step: tuple[Half, Half]) -> float:
    """The slower half's speed over the faster one's."""
    speeds = sorted(half.gb_per_s for half in step)
    return speeds[0] / speeds[1]


Compare = Callable[[list[list[int]]], tuple[Half, Half]]
"""Measures rings of two sets of ranks."""


def halved(ranks: int, compare: Compare) -> Bisection:
    """Halve the ranks, and then the slower half, as long as one is slower; needs at least `LEAST_RANKS`."""
    everybody = list(range(ranks))
    suspects, steps = everybody, []
    while len(suspects) > 1:
        middle = len(suspects) // 2
        cleared = [rank for rank in everybody if rank not in suspects]
        # A single rank has no link: add one that was found good.
        halves = [half + cleared[:1] * (len(half) == 1) for half in (suspects[:middle], suspects[middle:])]
        found = compare(halves)
        steps.append(found)
        if ratio(found) >= 1 - LEAST_LOSS:
            break
        slower = min(found, key=lambda half: half.gb_per_s)
        suspects = [rank for rank in slower.ranks if rank not in cleared]
    return Bisection(steps, [] if len(suspects) == ranks else suspects)


def bisect(
    bootstrap: Bootstrap, peers: Sequence[Peer], network: Network, job: LinkJob, say: Callable[[str], None]
) -> Bisection:
    """Find a slow rank; all ranks call it together and get the same. Needs at least `LEAST_RANKS`.

    Raises:
        VerificationError: received bytes differ from those sent. RunError: a rank was lost meanwhile.
    """
    everybody = list(range(len(peers)))
    comm = Communicator(bootstrap, peers, [everybody], [ring_steps(peers)], only=Algorithm.RING, network=network)
    found = halved(len(peers), _Rings(comm, bootstrap, job, say).compare)
    comm.close()
    return replace(found, crowded=any(_crowds(half, peers) for step in found.steps for half in step))


def _crowds(half: Half, peers: Sequence[Peer]) -> bool:
    members = [peers[rank] for rank in half.ranks]
    here = Counter(peer.host_id for peer in members)
    return any(here[peer.host_id] > len(peer.cpus) for peer in members if peer.cpus)


class _Rings:
    """Measures rings of some ranks of a communicator."""

    def __init__(self, comm: Communicator, bootstrap: Bootstrap, job: LinkJob, say: Callable[[str], None]) -> None:
        self._comm = comm
        self._bootstrap = bootstrap
        self._job = job
        self._say = say
        self._source, self._destination = Buffer(job.bytes), Buffer(job.bytes)
        self._source.poison(job.bytes)  # unwritten pages all map the same zero page
        self._seed = 0

    def compare(self, halves: list[list[int]]) -> tuple[Half, Half]:
        """Measure two sets of ranks in turn."""
        self._say(f"rings of {len(halves[0])} and {len(halves[1])} ranks")
        turns = [[self._gb_per_s(half) for half in halves] for _ in range(TURNS)]
        first, second = (Half(ranks, max(each)) for ranks, each in zip(halves, zip(*turns, strict=True), strict=True))
        return first, second

    def _gb_per_s(self, ranks: list[int]) -> float:
        """The bandwidth of each link of a ring of these ranks; all ranks of the communicator call it."""
        rank, self._seed = self._comm.rank, self._seed + 1
        part = self._comm.split(0 if rank in ranks else None, ranks.index(rank) if rank in ranks else 0)
        count = self._job.bytes // len(ranks)
        seconds, problem = self._time(part, count) if part else (0.0, None)
        told = self._bootstrap.all_gather([seconds, problem], tuple[float, str | None])
        if part:
            part.close()
        for other, (_, wrong) in enumerate(told):
            if wrong:
                raise VerificationError(f"rank {other}, in a ring of {len(ranks)}: {wrong}")
        slowest: float = max(each[0] for each in told)
        return (len(ranks) - 1) * count / slowest / 1e9

    def _time(self, part: Communicator, count: int) -> tuple[float, str | None]:
        """Seconds of an all-gather by ring, and what is wrong in the result of a further one with random bytes."""
        case = OperationCase(collective=Collective.ALL_GATHER, count=count, dtype=Dtype.UINT8, op=Redop.SUM, root=0)
        source, destination = (buffer.at(0, case.dtype) for buffer in (self._source, self._destination))
        seconds = part.repeat(
            case.collective, source, destination, count, case.dtype, ahead=AHEAD, times=self._job.iterations
        )
        kind = PatternKind.RANDOM
        pattern = native.Pattern(part.size, case.dtype, case.op, self._seed, kind)
        native.fill_pattern(pattern, part.rank, source, count)
        self._destination.poison(self._job.bytes)
        part.repeat(case.collective, source, destination, count, case.dtype)
        verdict = verify(case, pattern, kind, lambda at: destination[at:], part.rank, part.size)
        return seconds, f"{verdict.wrong} bytes are wrong: {verdict}" if verdict.wrong else None
