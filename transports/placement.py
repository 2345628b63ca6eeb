# SPDX-License-Identifier: Apache-2.0
"""Binding this process, and what it executes, to CPUs and to the memory of a NUMA node."""

import ctypes
import os
import platform
from collections.abc import Iterable

from railgauge.topo.errors import UnavailableError
from railgauge.topo.values.spans import listed

SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237, "ppc64le": 261}  # its number among system calls; libc has no function
MPOL_PREFERRED = 1  # linux/mempolicy.h: other nodes when this one is full
MASK_BITS = 1 << 10  # the most NUMA nodes that Linux is built for
WORD_BITS = 8 * ctypes.sizeof(ctypes.c_ulong)


def widen() -> frozenset[int]:
    """Let this process run wherever its cpuset allows, whatever a launcher bound it to; returns the CPUs that it had.

    The kernel leaves out of a mask what the cpuset does not allow (sched_setaffinity(2)).
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(max(os.cpu_count() or 1, max(before) + 1)))
    return frozenset(before)


def bind_cpus(cpus: Iterable[int]) -> frozenset[int]:
    """Run on those CPUs only, and return those that exist; UnavailableError when none of them exists here."""
    wanted = tuple(cpus)
    try:
        os.sched_setaffinity(0, wanted)
    except OSError as error:
        raise UnavailableError(
            f"cannot run on CPUs {listed(wanted)}: {error.strerror}; does --from describe this machine?"
        ) from error
    return frozenset(os.sched_getaffinity(0))


def prefer_memory(node: int) -> None:
    """Prefer memory of a NUMA node; UnavailableError if the kernel refuses."""
    number = SET_MEMPOLICY.get(platform.machine())
    if number is None:
        raise UnavailableError(f"--mem is not supported on {platform.machine()}: use numactl --preferred={node}")
    libc = ctypes.CDLL(None, use_errno=True)
    mask = (ctypes.c_ulong * (MASK_BITS // WORD_BITS))()
    mask[node // WORD_BITS] = 1 << node % WORD_BITS
    if libc.syscall(ctypes.c_long(number), ctypes.c_int(MPOL_PREFERRED), mask, ctypes.c_ulong(MASK_BITS + 1)) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise UnavailableError(
            f"cannot prefer the memory of NUMA node {node}: {reason}; does it exist, and does the container allow it?"
        )
