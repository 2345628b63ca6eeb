# SPDX-License-Identifier: Apache-2.0
"""Of which sizes collectives between ranks of one host run on the callers' arrays themselves.

An operation of such a size begins with a round in which the ranks tell each other where their arrays lie.
"""

from collections.abc import Mapping
from typing import NamedTuple

from railgauge.collectives.cost.host_cost import ON_BOARDS
from railgauge.collectives.operation import NUMBERS, REDUCING
from railgauge.collectives.tuning import Setting, usable_for
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed

NEVER = (1 << 64) - 1
IN_WINDOWS_FROM = 32 << 10
"""Arrays in memory of `Communicator.empty`: from here on one copy less saves more than the two rounds take
(docs/internals/shared-memory.md)."""
CROSS_MEMORY_FROM = 4 << 20
"""Arrays anywhere, read by process_vm_readv. Looking up small pages costs more than the copy that is saved where
several ranks read one array. Larger arrays are in huge pages: NumPy asks for
them from 4 MiB on (docs/internals/shared-memory.md)."""
CROSS_MEMORY_NOT = (*REDUCING, Collective.GATHER)
"""Reductions have to read into memory of their own first, which is a copy again; of a gather the root does all. Both
took as long as over boards, or longer."""


class Sizes(NamedTuple):
    """Bytes, as nccl-tests counts them."""

    windows_from: int
    cross_memory_from: int
    cross_memory_below: int


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
