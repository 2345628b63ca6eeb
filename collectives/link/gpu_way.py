# SPDX-License-Identifier: Apache-2.0
"""The ways between the GPUs of a machine that are measured: P2P where NCCL and CUDA have it, else through the host.

Over P2P the copy engine moves the bytes, and kernels do by stores and by loads; through memory of the host the driver
copies.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

from railgauge.collectives.link.gpu_path import GpuPath, GpuPaths
from railgauge.collectives.link.mover import Mover
from railgauge.collectives.link.tournament import Pair
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.transports.available import P2P
from railgauge.transports.select import SHM

MOVERS = {P2P: tuple(Mover), SHM: (Mover.COPY_ENGINE,)}
VIA = {P2P: "P2P/direct pointer", SHM: SHM}
"""As NCCL's log names them in one process."""


@dataclass(frozen=True, slots=True)
class GpuWay:
    """A transport, who moves the bytes over it, and the path of each pair that it joins."""

    transport: str
    mover: Mover
    paths: dict[Pair, GpuPath]


@dataclass(frozen=True, slots=True)
class GpuWays:
    """All ways, and why some pairs go through memory of the host, by reason."""

    ways: list[GpuWay]
    detours: dict[str, list[Pair]]


def gpu_ways(gpus: int, paths: GpuPaths, reaches: Callable[[int, int], bool], only: str | None) -> GpuWays:
    """All ways that join at least two GPUs, or those of one transport.

    `reaches` tells whether CUDA lets a GPU access another one's memory.

    Raises:
        UsageError: there is no such transport. UnavailableError: it joins no GPUs.
    """
    if only not in (None, *MOVERS):
        raise UsageError(f"--transport {only}: between GPUs there are {', '.join(MOVERS)}")
    joined: dict[str, dict[Pair, GpuPath]] = {transport: {} for transport in MOVERS}
    detours: dict[str, list[Pair]] = {}
    for pair in combinations(range(gpus), 2):
        why_not = paths.no_p2p(*pair) or _unreachable(pair, reaches)
        if why_not:
            detours.setdefault(why_not, []).append(pair)
        else:
            joined[P2P][pair] = paths.peer(*pair)
        if why_not or only == SHM:
            joined[SHM][pair] = paths.through_host(*pair)
    found = [
        GpuWay(transport, mover, pairs)
        for transport, pairs in joined.items()
        if pairs and only in (None, transport)
        for mover in MOVERS[transport]
    ]
    if not found:
        raise UnavailableError(f"no {only} joins any of these {gpus} GPUs: {'; '.join(detour_lines(detours))}")
    return GpuWays(found, {} if only == SHM else detours)


def detour_lines(detours: dict[str, list[Pair]]) -> Iterable[str]:
    """Each reason with the pairs that it holds for."""
    for why, pairs in detours.items():
        named = ", ".join(f"{a}-{b}" for a, b in pairs)
        yield f"GPUs {named}: {why}"


def _unreachable(pair: Pair, reaches: Callable[[int, int], bool]) -> str | None:
    a, b = pair
    return None if reaches(a, b) and reaches(b, a) else "CUDA gives them no access to each other's memory"
