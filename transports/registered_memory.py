# SPDX-License-Identifier: Apache-2.0
"""Registered memory: memory of each rank of a host that all of them map, for arrays that collectives need not copy."""

from collections.abc import Callable

from railgauge._native.transports import SharedSegment, memory_left
from railgauge.topo.errors import UnavailableError
from railgauge.transports.descriptor import Descriptor
from railgauge.transports.group import Group


def allocate(group: Group, segment: SharedSegment, size: int) -> memoryview:
    """`size` bytes of this rank's memory, zeroed, which the others map; all ranks of the shared segment's group call
    it.

    Sizes may differ. The memory exists as long as something holds the view. It goes back to the system in a later call,
    once no rank holds its part, or with the segment.

    Raises:
        UnavailableError: on any rank there is too little memory, or it cannot be mapped; all ranks raise it.
        RunError: a rank was lost meanwhile.
    """
    memory = segment.registered_memory
    told = group.all_gather([size, memory_left(), memory.unused], tuple[int, int, list[int]])
    memory.release(sorted(set.intersection(*(set(unused) for _, _, unused in told))))
    wanted, left = sum(each for each, _, _ in told), min(each for _, each, _ in told)
    if wanted > left:
        raise UnavailableError(
            f"{wanted} bytes of shared memory for {len(told)} ranks: this machine, or its control group, has {left} "
            f"left: use smaller arrays, or raise the group's memory.max"
        )
    view: list[memoryview] = []

    def open_all() -> str:
        view.append(memory.open(descriptors))
        return ""

    try:
        descriptors = _on_all(group, lambda: memory.make(size))
        descriptors[group.rank] = ""
        _on_all(group, open_all)
    except UnavailableError:
        view.clear()
        memory.drop()
        raise
    memory.settle()
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
