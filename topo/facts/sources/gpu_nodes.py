# SPDX-License-Identifier: Apache-2.0
"""Which GPUs this process is given: those the driver lists in /proc, and the device nodes that it may open.

A container's runtime hides the other GPUs in /proc or gives it no device node of them; a job's cgroup denies opening
them, which access(2) reports without opening. sysfs shows all GPUs in any case.
"""

import os
import re
from typing import Any, NamedTuple

from railgauge.topo.facts.reader import Reader

PROC = "/proc/driver/nvidia/gpus"
DEV = "/dev"
NODE = re.compile(r"nvidia\d{1,4}", re.ASCII)


class GpuNodes(NamedTuple):
    """in_proc: bus ids of the GPUs that the driver lists, None where it lists none. openable: how many device nodes of
    GPUs this process may open, None if nobody asked.
    """

    in_proc: tuple[str, ...] | None = None
    openable: int | None = None


def live_gpu_nodes(folder: str = DEV) -> dict[str, Any]:
    """The device nodes by name, 1 for those that this process may open."""
    try:
        names = sorted(name for name in os.listdir(folder) if NODE.fullmatch(name))
    except OSError as error:
        return {"error": f"{folder}: {error.strerror}"}
    return {"nodes": {name: int(os.access(f"{folder}/{name}", os.R_OK | os.W_OK)) for name in names}}


def read_gpu_nodes(reader: Reader) -> GpuNodes:
    """What is known of them."""
    nodes = (reader.facts("gpu_nodes") or {}).get("nodes")
    return GpuNodes(
        in_proc=tuple(name.lower() for name in reader.entries(PROC)) or None,
        openable=None if nodes is None else sum(1 for may in nodes.values() if may),
    )
