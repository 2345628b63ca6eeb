# SPDX-License-Identifier: Apache-2.0
"""One difference between two machines (diff.py)."""

from typing import NamedTuple


class Change(NamedTuple):
    """One fact that differs, and its sentence; before and after are None if absent or unreadable.

    subject: a bus id, "0000:3b:00.0 port 1", "interface eth0", "NUMA node 0", "host", or two ends of a path.
    """

    subject: str
    what: str
    before: str | None
    after: str | None
    message: str
