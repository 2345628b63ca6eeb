# SPDX-License-Identifier: Apache-2.0
"""Which topology file NCCL begins with, as text: NCCL_TOPO_FILE, else the one that a hypervisor's daemon provides.

NCCL's function: `ncclTopoGetSystem`. The result is topo_file.py.
"""

from typing import NamedTuple

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.nccl_settings import in_folder, read_settings

SETTING = "NCCL_TOPO_FILE"
VIRTUAL = "/var/run/nvidia-topologyd/virtualTopology.xml"  # where NCCL looks without the setting


class NamedFile(NamedTuple):
    """The file by its path; text is None when it is not there or unreadable."""

    path: str
    text: str | None

    @property
    def content(self) -> bytes | None:
        """The text as bytes, those that are no UTF-8 as they were."""
        return None if self.text is None else self.text.encode("utf-8", "surrogateescape")


def read_topo_file(reader: Reader) -> NamedFile | None:
    """The file in force on the machine; None without one. A setting without a name keeps the daemon's out too."""
    named = next((one.value for one in read_settings(reader) or () if one.name == SETTING), None)
    return named_file(reader, named)


def named_file(reader: Reader, named: str | None) -> NamedFile | None:
    """The file in force where the setting is `named`, None where it is not set."""
    if named is not None:
        return NamedFile(path=named, text=reader.text(in_folder(reader, named))) if named else None
    provided = reader.text(VIRTUAL)
    return None if provided is None else NamedFile(path=VIRTUAL, text=provided)
