# SPDX-License-Identifier: Apache-2.0
"""The release of the NCCL that the system's loader finds, by the name of the file that libnccl.so.2 leads to.

NCCL of a Python package has no release in its name: it is unknown here.
"""

import re

from railgauge.topo.facts.reader import Reader

FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/lib")
LIBRARY = "libnccl.so.2"


def read_nccl_release(reader: Reader) -> str | None:
    """The release, such as "2.27.5"; None if no library with one in its name is installed, or it was not captured."""
    for folder in FOLDERS:
        found = re.search(r"\.so\.(\d+\.\d+\.\d+)$", reader.realpath(f"{folder}/{LIBRARY}") or "")
        if found:
            return found[1]
    return None
