# SPDX-License-Identifier: Apache-2.0
"""/dev/shm: its size, what is free, and NCCL's segments that no process has open."""

import os
import time
from typing import Any, NamedTuple

from railgauge.topo.facts.reader import Reader

SHM = "/dev/shm"
SEGMENT = "nccl-"  # NCCL's shmutils.cc: nccl-XXXXXX
YOUNG_S = 600  # a segment of a job that is starting is young


class Segment(NamedTuple):
    """A segment of NCCL. held: whether a process has it mapped, None where some could not be looked at."""

    name: str
    size_bytes: int
    age_s: int
    held: bool | None


class SharedMemory(NamedTuple):
    """The file system. error: why nothing is known of it."""

    size_bytes: int = 0
    free_bytes: int = 0
    segments: tuple[Segment, ...] = ()
    error: str = ""


def live_shared_memory(folder: str = SHM) -> dict[str, Any]:
    """The raw answers; {"error": reason} without the file system."""
    try:
        found = os.statvfs(folder)
        segments = [_segment(entry) for entry in os.scandir(folder) if entry.name.startswith(SEGMENT)]
    except OSError as error:
        return {"error": f"{folder}: {error.strerror}"}
    if segments:
        held, blind = _mapped(folder)
        for one in segments:
            one["held"] = True if one["name"] in held else None if blind else False
    return {
        "size_bytes": found.f_blocks * found.f_frsize,
        "free_bytes": found.f_bavail * found.f_frsize,
        "segments": sorted(segments, key=lambda one: str(one["name"])),
    }


def read_shared_memory(reader: Reader) -> SharedMemory | None:
    """The facts; None if not read."""
    facts = reader.facts("shared_memory")
    if facts is None:
        return None
    if "error" in facts or not {"size_bytes", "free_bytes"} <= facts.keys():
        return SharedMemory(error=facts.get("error", "its size was not captured"))
    segments = tuple(
        Segment(name=one["name"], size_bytes=one["size_bytes"], age_s=one["age_s"], held=_truth(one.get("held")))
        for one in facts.get("segments", ())
    )
    return SharedMemory(size_bytes=facts["size_bytes"], free_bytes=facts["free_bytes"], segments=segments)


def _truth(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _segment(entry: "os.DirEntry[str]") -> dict[str, Any]:
    status = entry.stat(follow_symlinks=False)
    age = max(0, int(time.time() - status.st_mtime))
    return {"name": entry.name, "size_bytes": status.st_blocks * 512, "age_s": age, "held": None}


def _mapped(folder: str) -> tuple[set[str], bool]:
    """The names below the folder that processes have mapped, and whether some could not be looked at."""
    names: set[str] = set()
    blind = False
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/maps") as file:
                lines = [line for line in file if f"{folder}/{SEGMENT}" in line]
        except (FileNotFoundError, ProcessLookupError):
            continue
        except OSError:
            blind = True
            continue
        names.update(line.rstrip().removesuffix(" (deleted)").rpartition("/")[2] for line in lines)
    return names, blind
