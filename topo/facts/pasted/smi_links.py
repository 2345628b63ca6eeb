# SPDX-License-Identifier: Apache-2.0
"""`nvidia-smi nvlink -s` and `nvidia-smi -L`: GPUs by index with their names, and which of their NVLinks are up.

GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-...)
     Link 0: 25 GB/s
     Link 1: <inactive>
"""

import re

from railgauge.topo.facts.pasted.host import PastedHost

GPU = re.compile(r"\s*GPU (\d{1,3}): (.{1,80}?) \(UUID: (GPU-[\w-]+|[^)]*)\)\s*$")
LINK = re.compile(r"\s*Link (\d{1,2}): (?:([\d.]+) GB/s|<?(inactive)>?|.*)$", re.IGNORECASE)
LISTED = 64  # of one GPU; today's have 18


def read(text: str, host: PastedHost) -> str:
    """Add the GPUs and their links; what is at the other end of a link is not said."""
    gpu, tool = None, ""
    for line in text.splitlines():
        if start := GPU.match(line):
            gpu = host.gpu(int(start[1]))
            gpu["name"] = start[2]
            if start[3].startswith("GPU-"):
                gpu["uuid"] = start[3]
            tool = tool or "nvidia-smi -L"
        elif gpu is not None and (link := LINK.match(line)) and (link[2] or link[3]) and int(link[1]) < LISTED:
            states = gpu.setdefault("link_states", {})
            states[int(link[1])] = int(bool(link[2]))
            tool = "nvidia-smi nvlink -s"
    return tool
