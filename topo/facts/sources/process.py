# SPDX-License-Identifier: Apache-2.0
"""What the process that read the machine may do: limits, capabilities, and whether system calls about NUMA are let in.

A job's ranks may have other limits than a login shell (Slurm, systemd and containers set their own): what counts is
what stands in the process that asked. getrlimit(2), proc_pid_status(5), get_mempolicy(2).
"""

import ctypes
import os
import platform
import resource
from typing import Any, NamedTuple

from railgauge.topo.facts.reader import Reader

STATUS = "/proc/self/status"
UNLIMITED = -1  # RLIM_INFINITY, as Python spells it
GET_MEMPOLICY = {"x86_64": 239, "aarch64": 236, "ppc64le": 260}  # asm/unistd.h
CAP_IPC_LOCK = 14  # linux/capability.h: no limit on locked memory


class Process(NamedTuple):
    """memlock_bytes and open_files are (soft, hard), UNLIMITED without one. Each is None if not recorded.

    locks_freely: it has CAP_IPC_LOCK. seccomp: 0 off, 1 strict, 2 filtered. numa_error: why get_mempolicy failed, ""
    where it works.
    """

    memlock_bytes: tuple[int, int] | None = None
    open_files: tuple[int, int] | None = None
    locks_freely: bool | None = None
    seccomp: int | None = None
    numa_error: str | None = None


def live_process() -> dict[str, Any]:
    """The raw answers about this process."""
    return {
        "memlock_bytes": list(resource.getrlimit(resource.RLIMIT_MEMLOCK)),
        "open_files": list(resource.getrlimit(resource.RLIMIT_NOFILE)),
        "numa_error": _numa_error(),
        **_status(),
    }


def read_process(reader: Reader) -> Process:
    """The process that read the machine; knowing nothing when it was not recorded."""
    facts = reader.facts("process") or {}
    capabilities = facts.get("capabilities")
    return Process(
        memlock_bytes=_pair(facts.get("memlock_bytes")),
        open_files=_pair(facts.get("open_files")),
        locks_freely=None if capabilities is None else bool(capabilities >> CAP_IPC_LOCK & 1),
        seccomp=facts.get("seccomp"),
        numa_error=facts.get("numa_error"),
    )


def _pair(values: list[int] | None) -> tuple[int, int] | None:
    return (values[0], values[1]) if values else None


def _status() -> dict[str, int | None]:
    try:
        with open(STATUS) as file:
            lines = dict(line.partition(":")[::2] for line in file)
        return {"capabilities": int(lines["CapEff"], 16), "seccomp": int(lines.get("Seccomp", "0"))}
    except (OSError, KeyError, ValueError):
        return {"capabilities": None, "seccomp": None}


def _numa_error() -> str | None:
    """Ask for this thread's memory policy, which changes nothing."""
    number = GET_MEMPOLICY.get(platform.machine())
    if number is None:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.syscall(ctypes.c_long(number), None, None, ctypes.c_ulong(0), None, ctypes.c_ulong(0))
    return os.strerror(ctypes.get_errno()) if failed else ""
