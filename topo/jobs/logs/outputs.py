# SPDX-License-Identifier: Apache-2.0
"""The output of other programs in a log: the results of nccl-tests, ncclras's list of who is behind, and torchrun's of
who ended first.
"""

import re

from railgauge.topo.jobs.tables.devices import DEVICE
from railgauge.topo.jobs.tables.table import MeasuredTable
from railgauge.topo.jobs.tables.tables import Tables

AVERAGE = re.compile(r"# Avg bus bandwidth *: *(\d{1,9}(?:\.\d{1,9})?)")
MISMATCH = re.compile(r"^#\S+ \((\w+)\) +MISMATCH")
LAUNCHED = re.compile(r"^(\d{1,9}) ranks? ha(?:ve|s) launched up to operation (\d{1,18})")
BEHIND = re.compile(r"^Rank (\d{1,9}) -- GPU (\S+) managed by process \d+ on node (\S+)")
ROOT_CAUSE = "Root Cause (first observed failure)"
FIELD = re.compile(r"\b(host|rank|exitcode) +: (\S{1,255})")
"""Of the summary of torchrun's agent, below its root cause."""
MOST_LISTED = 1 << 16
"""Processes of one table."""


class Outputs:
    """Tables of benchmarks in the files that are at their end, averages of nccl-tests in GB/s, and of ncclras: how many
    ranks launched how many operations, and who is named; of torchrun the host, rank and exit code of who ended first.
    """

    def __init__(self) -> None:
        self.tables: list[MeasuredTable] = []
        self._tables = Tables()
        self.averages: list[float] = []
        self.mismatches: list[str] = []
        self.launched: dict[int, int] = {}
        self.named: dict[int, str] = {}
        self.worlds: dict[tuple[str, str], None] = {}
        """Processes (host, pid) that each list themselves as rank 0 of nccl-tests, and no table between them."""
        self.first_ended: dict[str, str] = {}
        self._below_cause = False
        self._listed: dict[tuple[str, str], set[int]] = {}
        self._placed: dict[int, str] = {}

    @property
    def nodes(self) -> int:
        """On how many hosts nccl-tests lists the ranks of its job; 0 where it does not, or the list is cut."""
        whole = len(self._placed) > 1 and max(self._placed) == len(self._placed) - 1
        return len(set(self._placed.values())) if whole and not self.worlds else 0

    @property
    def any(self) -> bool:
        """Whether there was something."""
        return bool(self.tables or self.averages or self.mismatches or self.launched or self.worlds)

    def take(self, block: bytes) -> None:
        """Take in a block of whole lines, for the tables in it."""
        self._tables.take(block)

    def pass_over(self, lines: int) -> None:
        """So many lines are known to have nothing of a table."""
        self._tables.pass_over(lines)

    def end_file(self) -> None:
        """The file is at its end."""
        self.tables += self._tables.found()
        self._tables = Tables()
        self._end_list()

    def _end_list(self) -> None:
        """A list of ranks is over: processes that all are rank 0 are each a world of their own."""
        if len(self._listed) > 1 and all(0 in ranks for ranks in self._listed.values()):
            self.worlds |= dict.fromkeys(self._listed)
        self._listed = {}

    def read(self, text: str) -> None:
        """Take in a line."""
        text = text.strip()
        if found := AVERAGE.search(text):
            self.averages.append(float(found[1]))
            self._end_list()
        elif (found := DEVICE.search(text)) and len(self._listed) < MOST_LISTED > len(self._placed):
            self._placed[int(found[1])] = found[4]
            if found[3]:
                self._listed.setdefault((found[4], found[3]), set()).add(int(found[1]))
        elif found := MISMATCH.search(text):
            self.mismatches.append(found[1])
        elif found := LAUNCHED.search(text):
            self.launched[int(found[2])] = int(found[1])
        elif found := BEHIND.search(text):
            self.named[int(found[1])] = found[3]
        elif ROOT_CAUSE in text:
            self._below_cause = not self.first_ended
        elif self._below_cause and (found := FIELD.search(text)):
            self._below_cause = found[1] not in self.first_ended
            self.first_ended.setdefault(found[1], found[2])
