# SPDX-License-Identifier: Apache-2.0
"""Exports memory of the first GPU as a DMA-BUF; prints what came as JSON: its size, what the kernel says of it, or why
there is none.
"""

import json
import os
from pathlib import Path

from railgauge._native import collectives, transports
from railgauge.topo.errors import UnavailableError

BYTES = (4096, 100_000, 16 << 20)


def exported(size: int, offset: int) -> dict[str, object]:
    memory = collectives.GpuMemory(0, size + offset)
    try:
        fd, begins_at = transports.export_gpu_memory(0, memory.pointer + offset, size)
    except UnavailableError as error:
        return {"bytes": size, "offset": offset, "error": str(error)}
    try:
        info = Path(f"/proc/self/fdinfo/{fd}").read_text().split("\n")
        return {
            "bytes": size,
            "offset": offset,
            "begins_at": begins_at,
            "fd_bytes": os.lseek(fd, 0, os.SEEK_END),
            "link": os.readlink(f"/proc/self/fd/{fd}"),
            "info": [line for line in info if line.startswith(("size:", "exp_name:", "count:"))],
        }
    finally:
        os.close(fd)


if __name__ == "__main__":
    print(json.dumps([exported(size, offset) for size in BYTES for offset in (0, 100)]))
