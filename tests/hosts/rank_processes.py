# SPDX-License-Identifier: Apache-2.0
"""The rank processes that railgauge's own launchers start."""

import contextlib
import re
from pathlib import Path


def rank_of(pid: int) -> int:
    """The rank by the process's name; -1 for any other process and one that is gone."""
    with contextlib.suppress(OSError):
        named = re.fullmatch(r"railgauge:(\d+)\n", Path(f"/proc/{pid}/comm").read_text())
        return int(named[1]) if named else -1
    return -1
