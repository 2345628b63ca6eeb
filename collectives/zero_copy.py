# SPDX-License-Identifier: Apache-2.0
"""Of which sizes collectives between ranks of one host run on the callers' arrays themselves.

An operation of such a size begins with a round in which the ranks tell each other where their arrays lie.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from railgauge.collectives.operation import NUMBERS, REDUCING
from railgauge.collectives.tuning import Setting, usable_for
from railgauge.topo.algorithm import Collective
from railgauge.topo.predict.host_cost import ON_BOARDS
from railgauge.topo.settings.algorithms import read_allowed

NEVER = (1 << 64) - 1
IN_WINDOWS_FROM = 32 << 10
"""Arrays in memory of `Communicator.empty`: two rounds take 0.6 us, one copy less saves as much from 4 to 32 KiB on, by
collective (docs/shared-memory.md)."""
CROSS_MEMORY_FROM = 512 << 10
"""Arrays anywhere, read by process_vm_readv: the call and looking up the pages cost more than the copy that is saved
below 256 to 512 KiB (docs/shared-memory.md)."""
CROSS_MEMORY_NOT = (*REDUCING, Collective.GATHER)
"""Reductions have to read into memory of their own first, which is a copy again; of a gather the root does all. Both
took as long as over boards, or longer, where caches are quick to pass lines on."""
RACED = (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER)
RACE_BYTES = (256 << 10, 1 << 20)
"""Reductions over cross-memory attach are raced against the usual way at these sizes when ranks connect: on one machine
they took 1.2 of its time, on another half (docs/shared-memory.md)."""
RACE_TURNS = 6
WON = 0.9
"""Of the time of the usual way: less is a win."""


class Sizes(NamedTuple):
    """Bytes, as nccl-tests counts them."""

    windows_from: int
    cross_memory_from: int
    cross_memory_below: int


def reductions_from(race: Callable[[int], Sequence[tuple[float, float]]]) -> int:
    """From how many bytes on reductions read each other's memory; NEVER where that is no quicker.

    `race` runs one size on all ranks and gives what each of them measured: seconds the usual way, and so.
    """
    won = NEVER
    for size in reversed(RACE_BYTES):
        usual, reading = (max(times) for times in zip(*race(size), strict=True))
        if reading > WON * usual:
            break
        won = size
    return won


def zero_copy_sizes(setting: Setting, settings: Mapping[str, str], stream_bytes: int) -> dict[Collective, Sizes]:
    """By collective; others are never run so.

    `settings` are NCCL_ALGO and others: what leaves the exchanges over boards out leaves this out. From `stream_bytes`
    on results are written past the caches, which the kernel's copy does not.
    """
    if not setting.one_host or setting.only is not None:
        return {}
    allowed = read_allowed(settings)
    return {
        collective: Sizes(IN_WINDOWS_FROM, CROSS_MEMORY_FROM, 0 if collective in CROSS_MEMORY_NOT else stream_bytes)
        for collective in NUMBERS
        if set(ON_BOARDS) & set(usable_for(collective, setting, allowed))
    }
