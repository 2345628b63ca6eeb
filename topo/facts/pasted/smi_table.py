# SPDX-License-Identifier: Apache-2.0
"""The table of `nvidia-smi` alone: GPUs by index with names, bus ids, uncorrected errors and compute modes, the
driver's release.

| NVIDIA-SMI 550.54.15     Driver Version: 550.54.15      CUDA Version: 12.4     |
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |           0 |
| N/A   30C    P0              72W / 700W |      2MiB / 81559MiB |  0%    Default |
"""

import re

from railgauge.topo.facts.pasted import gpu_models
from railgauge.topo.facts.pasted.host import PastedHost
from railgauge.topo.facts.pasted.smi_query import COMPUTE_MODES
from railgauge.topo.values.busid import from_nvml

GPU = re.compile(
    r"\|\s+(\d{1,3})\s+(\S.{1,60}?)\s+(?:On|Off|N/A)?\s*\|\s+([0-9A-Fa-f]{1,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s"
    r"(?:[^|\n]{0,40}\|\s+(\d{1,9})\s+\|)?"
)
MODE = re.compile(r"[^\n]{0,120}\n\|[^\n]{0,120}\s(Default|E\. Thread|Prohibited|E\. Process)\s*\|")
"""The end of the line below a GPU's."""
ERRORS = "memory_uncorrected_volatile"
"""The column does not say in which memory; its 0 says nothing of other counters."""
RELEASES = re.compile(r"Driver Version: ([\d.]{3,20})\s+(?:CUDA Version: (\d{1,2})\.(\d))?")
"""Before R410 the table has no CUDA release, and bus ids have four digits of a domain."""


def read(text: str, host: PastedHost) -> str:
    """Add the GPUs; of a name that the table cut off ("...") only what its begin says."""
    rows = list(GPU.finditer(text))
    for row in rows:
        index, name, bus_id, errors = row.groups(default="")
        gpu = host.gpu(int(index))
        if errors.strip("0"):
            host.health.setdefault(int(index), {"ecc": {ERRORS: int(errors)}, "reasons": {}})
        if mode := MODE.match(text, row.end()):
            health = host.health.setdefault(int(index), {"ecc": {}, "reasons": {}})
            health.setdefault("compute_mode", COMPUTE_MODES[mode[1].replace("E. ", "Exclusive_")])
        gpu["pci"] = from_nvml(bus_id)
        if not name.endswith("..."):
            gpu.setdefault("name", name)
        elif capability := gpu_models.of_product(name.removesuffix("...")):
            gpu.setdefault("cc", capability)
    if rows and (found := RELEASES.search(text)):
        host.driver = found[1]
        host.cuda = int(found[2]) * 1000 + int(found[3]) * 10 if found[2] else host.cuda
    return "nvidia-smi" if rows else ""
