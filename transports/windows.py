# SPDX-License-Identifier: Apache-2.0
"""Windows: memory of each rank of a host that all of them map, for arrays that collectives need not copy."""

from collections.abc import Callable

from railgauge._native.transports import Board, memory_left
from railgauge.topo.errors import UnavailableError
from railgauge.transports.descriptor import Descriptor
from railgauge.transports.group import Group


def allocate(group: Group, board: Board, size: int) -> memoryview:
    """`size` bytes of this rank's memory, zeroed, which the others map; all ranks of the board's group call it.

    Each may give another size. The memory is there as long as something holds the view. It goes back to the system in
    a later call, once no rank holds its part, or with the board.

    Raises:
        UnavailableError: on any rank there is not as much, or it cannot be mapped; all ranks raise it.
        RunError: a rank was lost meanwhile.
    """
    windows = board.windows
    told = group.all_gather([size, memory_left(), windows.unused], tuple[int, int, list[int]])
    windows.release(sorted(set.intersection(*(set(unused) for _, _, unused in told))))
    wanted, left = sum(each for each, _, _ in told), min(each for _, each, _ in told)
    if wanted > left:
        raise UnavailableError(
            f"{wanted} bytes of shared memory for {len(told)} ranks: this machine, or its control group, has {left} "
            f"left: make the arrays smaller, or the group's memory.max larger"
        )
    view: list[memoryview] = []

    def open_all() -> str:
        view.append(windows.open(descriptors))
        return ""

    try:
        descriptors = _on_all(group, lambda: windows.make(size))
        descriptors[group.rank] = ""
        _on_all(group, open_all)
    except UnavailableError:
        view.clear()
        windows.drop()
        raise
    windows.settle()
    return view[0][:size]


def _on_all(group: Group, attempt: Callable[[], str]) -> list[str]:
    """What `attempt` gives on each rank; the first rank's error when it fails on any."""
    given, why = "", ""
    try:
        given = attempt()
    except UnavailableError as error:
        why = f"rank {group.world_rank}: {error}"
    everybody = group.all_gather([given, why], tuple[Descriptor, str])
    if first := next((why for _, why in everybody if why), None):
        raise UnavailableError(first)
    return [each for each, _ in everybody]
