# SPDX-License-Identifier: Apache-2.0
"""The lines below "Using devices" of nccl-tests, rccl-tests and mscclpp-test: who takes part in a table."""

import re
from collections import Counter

from railgauge.topo.jobs.tables.draft import MOST_DEVICES, DraftTable
from railgauge.topo.jobs.tables.table import RankDevice

DEVICE = re.compile(
    r"\bRank +(\d{1,9}) +(?:Group +(\d{1,9}) +)?(?:Pid +(\d{1,9}) +)?on +(\S{1,255}) +device +(\d{1,9}) +"
    r"\[([^\]]{1,32})\] +(\S.{0,127})"
)


class Devices:
    """Ranks as they are named. Those of other groups (NCCL_TESTS_SPLIT) run the same test beside the first one; a rank
    that is named twice is of a process of its own: nccl-tests was built without MPI.
    """

    def __init__(self) -> None:
        self._groups: dict[str, None] = {}
        self._times: Counter[int] = Counter()
        self._hosts: set[str] = set()

    def take(self, found: re.Match[str], table: DraftTable) -> None:
        """Take in a rank."""
        rank, group, host = int(found[1]), found[2] or "", found[4]
        if len(table.devices) >= MOST_DEVICES or table.room.left <= 0:
            return
        table.room.left -= 1
        device = RankDevice(rank=rank, host=host, device=int(found[5]), bus_id=found[6], gpu=found[7])
        table.devices.append(device)
        self._groups[group] = None
        table.groups = len(self._groups)
        if group == next(iter(self._groups)):
            self._times[rank] += 1
            if self._times[rank] == 1:
                self._hosts.add(host)
            table.ranks, table.nodes = len(self._times), len(self._hosts)
            if len(self._times) <= rank < MOST_DEVICES:  # the lines of those before it are cut off, and their hosts
                table.ranks, table.nodes = rank + 1, 0
            table.copies = max(table.copies, self._times[rank])
