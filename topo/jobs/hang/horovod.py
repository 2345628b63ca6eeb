# SPDX-License-Identifier: Apache-2.0
"""What Horovod's stall inspector says of ranks that have not submitted what others wait for.

    Missing ranks:                                   the same, as 0.21 prints it
    Stalled ranks:                                   since 0.17; ! marks one that ends the job
    6: [horovod_allreduce.0, horovod_allreduce.1 ...]
    HorovodBroadcast_weights_0 [missing ranks: 0, 3]       before
    HorovodAllreduce_weights_0 [ready ranks: 2]            before 0.11: who has submitted it

Source: Horovod's stall_inspector.cc and operations.cc.
"""

import re

from railgauge.topo.files.lines import LONGEST, lines_saying
from railgauge.topo.jobs.hang.model import Complaint, JobState, named
from railgauge.topo.values.printable import one_line

HEADS = (b"Stalled ranks:", b"Missing ranks:")
TELLING = (*HEADS, b"[missing ranks: ", b"[ready ranks: ")
MISSING = re.compile(rb"([^\s:>]{1,256}) \[missing ranks: (\d{1,7}(?:, ?\d{1,7}){0,8191})")
READY = re.compile(MISSING.pattern.replace(b"missing", b"ready"))
STALLED = re.compile(rb"(?:[^\n]{0,80}?[>:)] ?)?(\d{1,7})!?: \[([^\s,\]]{1,256})[^\n]*\n?")
"""A rank and the first tensor that it has not submitted, below the line that announces them."""
CARD = "rank-behind"
MOST = 1 << 17
MOST_TENSORS = 1 << 6  # of those with ready ranks: each costs time for every rank


class HorovodStalls:
    """Reads such lines."""

    def __init__(self) -> None:
        self._waited: dict[int, str] = {}  # by rank, the first tensor that it has not submitted
        self._ready: dict[str, set[int]] = {}  # by tensor that others have not submitted, who has

    def read(self, block: bytes) -> bool:
        """Read whole lines of a log; whether any was of the stall inspector."""
        before = len(self._waited) + len(self._ready)
        for begin in lines_saying(TELLING, block):
            end = block.find(b"\n", begin) + 1 or len(block)
            line = block[begin : min(end, begin + LONGEST)]
            if found := MISSING.search(line):
                for rank in found[2].split(b","):
                    self._add(self._waited, int(rank), found[1])
            for found in READY.finditer(line):
                if len(self._ready) < MOST_TENSORS:
                    self._ready.setdefault(_name(found[1]), set()).update(map(int, found[2].split(b",")))
            while any(head in line for head in HEADS) and (found := STALLED.match(block, end)):
                self._add(self._waited, int(found[1]), found[2])
                end = found.end()
        return len(self._waited) + len(self._ready) > before

    def put(self, scene: JobState) -> None:
        """Add their facts to a scene."""
        by_tensor: dict[str, list[int]] = {}
        for rank, tensor in (self._waited or self._left_out()).items():
            by_tensor.setdefault(tensor, []).append(rank)
        beyond = "" if self._waited else f" and any above {self._highest}"
        for tensor, ranks in by_tensor.items():
            who = f"{named(ranks)}{beyond}"
            has = "has" if len(ranks) == 1 and not beyond else "have"
            text = f"{who} {has} not submitted {tensor} and perhaps more, which other ranks wait for, says Horovod"
            scene.complaints[Complaint(CARD, who, text)] = None
        if self._ready and not by_tensor:
            tensor, ready = next(iter(self._ready.items()))
            who = f"ranks other than {named([*ready]).partition(' ')[2]}"
            text = f"{who} have not submitted {tensor} and perhaps more, says Horovod"
            scene.complaints[Complaint(CARD, who, text)] = None

    @property
    def _highest(self) -> int:
        return max((max(ready) for ready in self._ready.values()), default=-1)

    def _left_out(self) -> dict[int, str]:
        """By rank, the first tensor that it has not submitted: of the ranks up to the highest one that has any."""
        highest = self._highest
        found: dict[int, str] = {}
        for tensor, ready in self._ready.items() if highest < MOST else ():
            for rank in range(highest + 1):
                if rank not in ready:
                    found.setdefault(rank, tensor)
        return found

    def _add(self, to: dict[int, str], rank: int, tensor: bytes) -> None:
        if len(to) < MOST:
            to.setdefault(rank, _name(tensor))


def _name(tensor: bytes) -> str:
    return one_line(tensor.decode("utf-8", "replace"))
