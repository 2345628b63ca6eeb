# SPDX-License-Identifier: Apache-2.0
"""The topology file that NCCL begins with: NCCL_TOPO_FILE, else the one that NVIDIA's topology daemon leaves.

NCCL's `ncclTopoGetSystem` (src/graph/topo.cc).
"""

from dataclasses import dataclass

from railgauge.topo.sources.nccl_settings import read_settings
from railgauge.topo.sources.reader import Reader

SETTING = "NCCL_TOPO_FILE"
DAEMONS = "/var/run/nvidia-topologyd/virtualTopology.xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """The file by its path; text is None when it is not there or unreadable."""

    path: str
    text: str | None


def read_topo_file(reader: Reader) -> NamedFile | None:
    """The file in force on the machine; None without one."""
    named = next((one.value for one in read_settings(reader) or () if one.name == SETTING and one.value), None)
    if named is not None:
        return NamedFile(path=named, text=reader.text(named))
    left = reader.text(DAEMONS)
    return None if left is None else NamedFile(path=DAEMONS, text=left)
