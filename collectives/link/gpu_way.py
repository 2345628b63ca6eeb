# SPDX-License-Identifier: Apache-2.0
"""The transports and copy methods between the GPUs of a machine that are measured: P2P if NCCL and CUDA allow it, else
through the host.

Over P2P the copy methods are the copy engine, and kernels with stores and with loads; through memory of the host the
driver copies.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

from railgauge.collectives.link.copy_method import CopyMethod
from railgauge.collectives.link.gpu_path import GpuPath, GpuPaths
from railgauge.collectives.link.tournament import Pair
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.transports.available import P2P
from railgauge.transports.select import SHM

COPY_METHODS = {P2P: tuple(CopyMethod), SHM: (CopyMethod.COPY_ENGINE,)}
VIA = {P2P: "P2P/direct pointer", SHM: SHM}
"""As NCCL's log names them in one process."""


@dataclass(frozen=True, slots=True)
class GpuWay:
    """A transport, a copy method over it, and the path of each pair that it connects."""

    transport: str
    method: CopyMethod
    paths: dict[Pair, GpuPath]


@dataclass(frozen=True, slots=True)
class GpuWays:
    """All ways, and which pairs use memory of the host, by reason."""

    ways: list[GpuWay]
    detours: dict[str, list[Pair]]


def gpu_ways(gpus: int, paths: GpuPaths, reaches: Callable[[int, int], bool], only: str | None) -> GpuWays:
    """All ways that connect at least two GPUs, or those of one transport.

    `reaches` says whether CUDA lets a GPU access another one's memory.

    Raises:
        UsageError: there is no such transport. UnavailableError: it connects no GPUs.
    """
    if only not in (None, *COPY_METHODS):
        raise UsageError(f"--transport {only}: unknown; transports between GPUs are {', '.join(COPY_METHODS)}")
    joined: dict[str, dict[Pair, GpuPath]] = {transport: {} for transport in COPY_METHODS}
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
        GpuWay(transport, method, pairs)
        for transport, pairs in joined.items()
        if pairs and only in (None, transport)
        for method in COPY_METHODS[transport]
    ]
    if not found:
        raise UnavailableError(f"{only} connects none of these {gpus} GPUs: {'; '.join(detour_lines(detours))}")
    return GpuWays(found, {} if only == SHM else detours)


def detour_lines(detours: dict[str, list[Pair]]) -> Iterable[str]:
    """Each reason with its pairs."""
    for why, pairs in detours.items():
        named = ", ".join(f"{a}-{b}" for a, b in pairs)
        yield f"GPUs {named}: {why}"


def _unreachable(pair: Pair, reaches: Callable[[int, int], bool]) -> str | None:
    a, b = pair
    return None if reaches(a, b) and reaches(b, a) else "CUDA does not let them access each other's memory"
