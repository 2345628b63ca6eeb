# SPDX-License-Identifier: Apache-2.0
"""Which hardware threads are of one core, from /sys/devices/system/cpu/cpu*/topology/thread_siblings_list."""

from collections.abc import Iterable

from railgauge.topo.facts.reader import Reader
from railgauge.topo.values.cpuset import from_list

SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def thread_siblings(reader: Reader | None, cpus: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """The threads of each CPU's core, itself among them; a CPU is missing if the machine does not report it."""
    found: dict[int, tuple[int, ...]] = {}
    if reader is None:
        return found
    for cpu in cpus:
        try:
            threads = from_list(reader.text(SIBLINGS.format(cpu)) or "")
        except ValueError:
            continue
        if cpu in threads:
            found[cpu] = threads
    return found
