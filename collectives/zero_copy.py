# SPDX-License-Identifier: Apache-2.0
"""From which sizes collectives between ranks of one host run on the callers' arrays themselves.

An operation of such a size begins with a round in which the ranks exchange their arrays' addresses.
"""

from collections.abc import Mapping
from typing import NamedTuple

from railgauge.collectives.cost.host_cost import ON_SEGMENTS
from railgauge.collectives.operation import NUMBERS, REDUCING
from railgauge.collectives.tuning import TuningScope, usable_for
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed

NEVER = (1 << 64) - 1
REGISTERED_FROM = 32 << 10
"""Arrays in memory of `Communicator.empty`: from this size on, saving a copy gains more than the two rounds cost
(docs/internals/shared-memory.md)."""
CROSS_MEMORY_FROM = 4 << 20
"""Arrays anywhere, read with process_vm_readv. Looking up small pages costs more than the saved copy if several ranks
read one array. Larger arrays are in huge pages: NumPy asks for them from 4 MiB on (docs/internals/shared-memory.md)."""
CROSS_MEMORY_NOT = (*REDUCING, Collective.GATHER)
"""Reductions must first read into memory of their own, which is a copy again; in a gather the root does all the work.
Both took as long as through shared segments, or longer."""


class Sizes(NamedTuple):
    """Bytes, as nccl-tests counts them."""

    windows_from: int
    cross_memory_from: int
    cross_memory_below: int


def zero_copy_sizes(setting: TuningScope, settings: Mapping[str, str], stream_bytes: int) -> dict[Collective, Sizes]:
    """Minimum size by collective; others never run on the arrays.

    `settings` are NCCL_ALGO and others: settings that exclude the exchanges through shared segments exclude this too.
    From `stream_bytes` on results are written past the caches, which the kernel's copy does not.
    """
    if not setting.one_host or setting.only is not None:
        return {}
    allowed = read_allowed(settings)
    return {
        collective: Sizes(REGISTERED_FROM, CROSS_MEMORY_FROM, 0 if collective in CROSS_MEMORY_NOT else stream_bytes)
        for collective in NUMBERS
        if set(ON_SEGMENTS) & set(usable_for(collective, setting, allowed))
    }
