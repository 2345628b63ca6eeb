# SPDX-License-Identifier: Apache-2.0
"""Names of the communicators of a log: the id that NCCL logs since 2.18, otherwise a number among those of its size."""

import re
from collections import Counter

INIT = re.compile(
    r"\bcomm (?P<pointer>0x\w+) rank (?P<rank>\d{1,7}) n[rR]anks (?P<size>\d{1,7})\b(?: cudaDev (?P<device>\d+))?"
    r"(?: nvmlDev \d+)?(?: busId (?P<bus_id>[0-9a-f]+))?(?: commId (?P<comm>\w+))?"
)
"""The facts a rank logs about itself when a communicator begins and ends."""


class CommunicatorNames:
    """Finds the communicator of a process' pointer. Of those without an id the n-th of a rank and size is one."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, int, str], str] = {}
        self._sizes: Counter[tuple[int, int]] = Counter()

    def name(self, host: str, pid: int, said: re.Match[str]) -> str:
        """The name of the communicator that a process has an INIT line of."""
        rank, size = int(said["rank"]), int(said["size"])
        process = host, pid, said["pointer"]
        name = said["comm"] or self._names.get(process)
        if name is None:
            self._sizes[rank, size] += 1
            name = f"{self._sizes[rank, size]} of {size} ranks"
        self._names[process] = name
        return name
