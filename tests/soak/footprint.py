# SPDX-License-Identifier: Apache-2.0
"""The resources of a process: compared at two times, they show leaks."""

import ctypes
import gc
import os
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

M_MMAP_THRESHOLD = -3
"""Of mallopt, from malloc.h."""
LARGE = 128 << 10
"""Bytes from which glibc maps memory by itself, as it starts with."""
SLACK = {"resident_bytes": 4 << 20, "files": 0, "mappings": 16, "threads": 0}
"""The tolerated growth: the allocator keeps memory, for each thread that existed, and NumPy keeps small arrays."""


def map_large_memory() -> None:
    """Let freed memory of LARGE or more go back to the system. By itself, glibc raises that limit to the largest array
    freed so far; arrays then share the heap with what lives long, and what is free in between stays resident.
    """
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE)


@dataclass(frozen=True)
class Footprint:
    """Of one process at one time."""

    resident_bytes: int
    files: int
    mappings: int
    threads: int

    @classmethod
    def now(cls) -> "Footprint":
        """This process's, after free memory was returned."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return cls(
            resident_bytes=pages * os.sysconf("SC_PAGE_SIZE"),
            files=len(os.listdir("/proc/self/fd")),
            mappings=len(Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()),
            threads=len(os.listdir("/proc/self/task")),
        )

    @classmethod
    def least(cls, looks: Iterable["Footprint"]) -> "Footprint":
        """The smallest figures of several."""
        return cls(*map(min, zip(*map(astuple, looks), strict=True)))

    def growth_since(self, before: "Footprint") -> str | None:
        """What has grown, in words; None if nothing has."""
        grown = [
            f"{field.name} from {old} to {new}"
            for field, old, new in zip(fields(self), astuple(before), astuple(self), strict=True)
            if new - old > SLACK[field.name]
        ]
        return ", ".join(grown) or None
