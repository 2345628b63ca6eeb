# SPDX-License-Identifier: Apache-2.0
"""Measures every algorithm that can run a collective here, size by size, for the tuning file.

All of them are connected at once and alternate, so that other load affects them equally. The time is that of the
slowest rank in a turn, and of the best turn of a size.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from railgauge.collectives.buffer import Buffer
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.operation import bytes_of, count_of
from railgauge.collectives.plan import Plan
from railgauge.collectives.tuning import TuningScope, usable_for
from railgauge.collectives.tuning_file import Timed
from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.network import SOCKETS, Network
from railgauge.transports.peer import Peer
from railgauge.transports.typed import listed

SIZES = tuple(8 << 2 * power for power in range(12))
"""8 B to 32 MiB: above that, the quickest stays the same."""
TURNS = 7
TURN_S = 2e-3
"""How long the operations of one turn take together, if one takes less."""
MOST_TIMES = 5000
DTYPE, OP = Dtype.FLOAT, Redop.SUM
DISTORTING = (
    *("NCCL_ALGO", "NCCL_PROTO", "NCCL_BUFFSIZE"),
    *("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_NRINGS", "NCCL_MAX_NRINGS"),
)
"""Settings that change the times, so that these would not hold without them."""


def check_undistorted(environ: Mapping[str, str]) -> None:
    """Raise UsageError if times measured now would mislead runs without the same settings."""
    if given := [name for name in DISTORTING if environ.get(name)]:
        raise UsageError(f"--tune measures for all later runs: unset {', '.join(given)} first")


def tune(
    bootstrap: Bootstrap,
    peers: list[Peer],
    plan: Plan,
    collectives: Iterable[Collective],
    sizes: Sequence[int] = SIZES,
    say: Callable[[str], None] = lambda _line: None,
    network: Network = SOCKETS,
) -> list[Timed]:
    """Connect every algorithm and measure; all ranks call it together and get the same. `say` takes a line for each
    size.

    Raises:
        UnavailableError: there is no memory for two buffers of the largest size.
        RunError: a rank was lost, or the timeout passed.
    """
    setting = TuningScope.of(peers, rings=len(plan.rings), trees=len(plan.trees))
    usable = {collective: usable_for(collective, setting) for collective in collectives}
    ways = {
        algorithm: Communicator(bootstrap, peers, plan.rings, plan.nets, plan.trees, only=algorithm, network=network)
        for algorithm in Algorithm
        if any(algorithm in there for there in usable.values())
    }
    buffers = Buffer(max(sizes)), Buffer(max(sizes))
    for buffer in buffers:
        buffer.poison(max(sizes))  # unwritten pages all map the same zero page
    found: list[Timed] = []
    for collective, there in usable.items():
        for size in sizes:
            timed = measure({one: ways[one] for one in there}, bootstrap, collective, size, buffers)
            found += timed
            if timed:
                say(line(timed))
    for comm in ways.values():
        comm.close()
    return found


def measure(
    ways: Mapping[Algorithm, Communicator],
    bootstrap: Bootstrap,
    collective: Collective,
    size: int,
    buffers: tuple[Buffer, Buffer],
) -> list[Timed]:
    """Time one size with each algorithm; empty for a size too small to be split into parts."""
    ranks = bootstrap.world_size
    count = count_of(collective, size, DTYPE.bytes, ranks)
    if count == 0:
        return []
    source, destination = (buffer.at(0, DTYPE) for buffer in buffers)

    def seconds(comm: Communicator, times: int) -> float:
        comm.barrier()
        return comm.repeat(collective, source, destination, count, DTYPE, OP, ahead=1, times=times)

    once = _slowest(bootstrap, [seconds(comm, 1) for comm in ways.values()])
    times = [max(1, min(MOST_TIMES, int(TURN_S / max(one, 1e-9)))) for one in once]
    turns = [
        _slowest(bootstrap, [seconds(comm, n) for comm, n in zip(ways.values(), times, strict=True)])
        for _ in range(TURNS)
    ]
    best = [max(min(each), 1e-9) for each in zip(*turns, strict=True)]
    moved = bytes_of(collective, count, DTYPE.bytes, ranks)
    return [
        Timed(collective=collective, algorithm=algorithm, bytes=moved, time_us=least * 1e6)
        for algorithm, least in zip(ways, best, strict=True)
    ]


def line(timed: Sequence[Timed]) -> str:
    """One size: the algorithms' times, the quickest first."""
    first = timed[0]
    times = ", ".join(f"{one.algorithm} {one.time_us:.2f} us" for one in sorted(timed, key=lambda one: one.time_us))
    return f"# {first.collective} {first.bytes}: {times}"


def _slowest(bootstrap: Bootstrap, seconds: list[float]) -> list[float]:
    """The slowest rank's time for each algorithm."""
    return [max(ranks) for ranks in zip(*bootstrap.all_gather(seconds, listed(*[float] * len(seconds))), strict=True)]
