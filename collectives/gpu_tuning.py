# SPDX-License-Identifier: Apache-2.0
"""The engine's launches between GPUs, measured for the tuning file and chosen by its times.

All alternate, in CUDA graphs, so that launch overhead does not hide the GPUs' time. The time is that of the slowest
rank in a turn, and of the best turn of a size. Tuning is for the GPUs of one node; between nodes the network sets the
time.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

from railgauge._native import collectives as native
from railgauge.collectives.case import OperationCase
from railgauge.collectives.cost.host_choice import quickest
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.gpu_arrays import GpuArrays
from railgauge.collectives.gpu_communicator import GpuCommunicator
from railgauge.collectives.gpu_way import KernelLaunch, Via
from railgauge.collectives.operation import count_of
from railgauge.collectives.tuning_file import Timed, TuningPlace, measured_for
from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.typed import listed

SIZES = tuple(8 << 2 * power for power in range(13))
"""8 B to 128 MiB: above that, the engine's own choice is used."""
TURNS = 5
TIMES = 10
"""Operations of a graph."""
TURN_S = 2e-3
"""How long the graphs of a turn take together, if one takes less."""
MOST_REPLAYS = 20
LINES = Algorithm.ONE_SHOT, Protocol.LL
FULL_LINES = Algorithm.TWO_SHOT, Protocol.LL128
SLOTS = Algorithm.TWO_SHOT, Protocol.SIMPLE
RING = Algorithm.RING, Protocol.SIMPLE
TREE = Algorithm.TREE, Protocol.SIMPLE
K = 1 << 10
LAUNCHES = (
    *(KernelLaunch(*LINES, blocks) for blocks in (0, 32, 64, 128)),
    *(KernelLaunch(*FULL_LINES, blocks) for blocks in (0, 64, 96)),
    *(KernelLaunch(*SLOTS, blocks, chunk) for blocks, chunk in ((0, 0), (64, 32 * K), (64, 64 * K), (128, 32 * K))),
    *(KernelLaunch(*RING, blocks) for blocks in (0, 64, 128)),
    KernelLaunch(*TREE),
)
"""The launches tried: around the quickest between 2 H200. A size too long for one is measured with the others."""


def tune_gpus(
    comm: GpuCommunicator,
    bootstrap: Bootstrap,
    collective: Collective,
    sizes: Sequence[int] = SIZES,
    say: Callable[[str], None] = lambda _line: None,
) -> list[Timed]:
    """Measure every launch; all ranks call it together and get the same. `say` takes a line for each size.

    Raises:
        UsageError: the GPUs are in several nodes, or there is only one.
        UnavailableError: there is no memory for two arrays of the largest size.
        RunError: a rank was lost, or the timeout passed.
    """
    if comm.size == 1 or Via.NET in comm.vias:
        raise UsageError("--tune needs at least 2 GPUs, all of one node")
    allocate = functools.partial(native.GpuMemory, comm.device)
    arrays = GpuArrays(comm.device, max(sizes), comm.rank, comm.size, allocate, comm.timeout_s)
    found: list[Timed] = []
    for size in sizes:
        count = count_of(collective, size, Dtype.FLOAT.bytes, comm.size)
        if count:
            case = OperationCase(collective=collective, count=count, dtype=Dtype.FLOAT, op=Redop.SUM, root=0)
            timed = list(_measured(comm, bootstrap, arrays, case))
            if timed:
                say(line(timed))
            found += timed
    return found


def choose_measured(comm: GpuCommunicator, bootstrap: Bootstrap) -> None:
    """Let the communicator choose by rank 0's tuning file; all ranks call it together.

    Raises:
        InputError, RunError: as `measured_for`.
    """
    by_launch: dict[Collective, dict[KernelLaunch, dict[int, float]]] = {}
    for timed in measured_for(bootstrap, lambda: place_of(comm)):
        launch = KernelLaunch(timed.algorithm, timed.protocol or Protocol.SIMPLE, timed.blocks, timed.chunk_bytes)
        if launch in launches(timed.collective):
            by_launch.setdefault(timed.collective, {}).setdefault(launch, {})[timed.bytes] = timed.time_us
    for collective, times in by_launch.items():
        largest = max(size for by_size in times.values() for size in by_size)
        comm.choose(collective, [(min(up_to, largest), launch) for up_to, launch in quickest(times)])


def launches(collective: Collective) -> list[KernelLaunch]:
    """The launches that can run it: rings have no exchanges in pairs, trees only all-reduces."""
    return [
        one
        for one in LAUNCHES
        if not (one.algorithm is Algorithm.RING and collective.in_pairs)
        and not (one.algorithm is Algorithm.TREE and collective is not Collective.ALL_REDUCE)
    ]


def place_of(comm: GpuCommunicator) -> TuningPlace:
    """The machine of times between these GPUs: their name, number, and whether they map each other's memory."""
    mapped = all(via is Via.NONE or via.maps_peer for via in comm.vias)
    return TuningPlace(
        machine=comm.peers[0].gpu or "",
        ranks=comm.size,
        nodes=len({peer.host_id for peer in comm.peers}),
        cores=1,
        memories=1 if mapped else comm.size,
    )


def line(timed: list[Timed]) -> str:
    """One size: the quickest launches' times."""
    first = timed[0]
    times = ", ".join(f"{_name(one)} {one.time_us:.2f} us" for one in sorted(timed, key=lambda one: one.time_us)[:5])
    return f"# {first.collective} {first.bytes}: {times}"


def _name(timed: Timed) -> str:
    blocks = f" x {timed.blocks}" if timed.blocks else ""
    return f"{timed.algorithm} {timed.protocol}{blocks}{f' x {timed.chunk_bytes}' if timed.chunk_bytes else ''}"


def _measured(comm: GpuCommunicator, bootstrap: Bootstrap, arrays: GpuArrays, case: OperationCase) -> Iterator[Timed]:
    """One size by each launch that it is not too long for."""
    source, destination = arrays.pointers(case, in_place=False)

    def seconds(launch: KernelLaunch, replays: int) -> float:
        bootstrap.barrier()
        return comm.repeat(case, source, destination, ahead=1, times=TIMES, replays=replays, launch=launch)

    once: dict[KernelLaunch, float] = {}
    for launch in launches(case.collective):
        try:
            once[launch] = seconds(launch, 1)
        except UsageError:  # the same on all ranks
            continue
    once = _slowest(bootstrap, once)
    replays = {one: max(1, min(MOST_REPLAYS, int(TURN_S / TIMES / max(took, 1e-9)))) for one, took in once.items()}
    turns = [_slowest(bootstrap, {one: seconds(one, n) for one, n in replays.items()}) for _ in range(TURNS)]
    for launch in once:
        yield Timed(
            collective=case.collective,
            algorithm=launch.algorithm,
            bytes=case.bytes(comm.size),
            time_us=max(min(turn[launch] for turn in turns), 1e-9) * 1e6,
            protocol=launch.protocol,
            blocks=launch.blocks,
            chunk_bytes=launch.chunk_bytes,
        )


def _slowest(bootstrap: Bootstrap, seconds: dict[KernelLaunch, float]) -> dict[KernelLaunch, float]:
    """The slowest rank's time, by launch."""
    told: Iterable[tuple[float, ...]] = bootstrap.all_gather(list(seconds.values()), listed(*[float] * len(seconds)))
    return {launch: max(ranks) for launch, *ranks in zip(seconds, *told, strict=True)}
