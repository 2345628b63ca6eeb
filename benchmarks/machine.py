# SPDX-License-Identifier: Apache-2.0
"""A result's description of the machine on which it was measured."""

import os
import pathlib
import platform
import re
import subprocess


def describe() -> dict[str, object]:
    """The facts of this machine that a speed depends on; one that cannot be read is null."""
    return {
        "cpu": cpu_field("model name"),
        "cpu_vendor": cpu_field("vendor_id"),
        "cpu_family": cpu_field("cpu family"),
        "cpu_model": cpu_field("model"),
        "cores": len(os.sched_getaffinity(0)),
        "last_level_cache": last_level_cache(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "virtual": "hypervisor" in (cpu_field("flags") or "").split(),
        "kernel": platform.release(),
        "transparent_hugepages": chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        "transparent_hugepages_shmem": chosen("/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
        "compiler": first_line("cc", "--version"),
        "python": platform.python_version(),
    }


def name(facts: dict[str, object]) -> str:
    """A file name for this kind of machine, as `2-core-amd-epyc-26-2-vm`; family and model distinguish generations."""
    words = f"{facts['cores']}-core {facts['cpu']} {facts['cpu_family']} {facts['cpu_model']}"
    return re.sub(r"[^a-z0-9]+", "-", (words + (" vm" if facts["virtual"] else "")).lower()).strip("-")


def load() -> float:
    """How many programs wanted a core in the last minute: says whether a machine was quiet."""
    return os.getloadavg()[0]


def cpu_field(field: str) -> str | None:
    """One field of the first processor in /proc/cpuinfo."""
    found = re.search(rf"^{field}\s*:\s*(.*)$", text("/proc/cpuinfo") or "", re.MULTILINE)
    return found[1] if found else None


def last_level_cache() -> str | None:
    """The size of the outermost cache of processor 0, as sysfs spells it."""
    folder = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")
    sizes = {text(index / "level"): text(index / "size") for index in folder.glob("index*")}
    return sizes[max(sizes, key=lambda level: level or "")] if sizes else None


def chosen(path: str) -> str | None:
    """The value in brackets of a sysfs file that lists its choices."""
    found = re.search(r"\[(\w+)\]", text(path) or "")
    return found[1] if found else None


def first_line(*command: str) -> str | None:
    """The first line that a command prints."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def text(path: str | pathlib.Path) -> str | None:
    """A file's text without the line's end, or None where it cannot be read."""
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return None
