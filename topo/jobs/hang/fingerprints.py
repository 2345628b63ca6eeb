# SPDX-License-Identifier: Apache-2.0
"""Two ranks that PyTorch caught calling different collectives (TORCH_DISTRIBUTED_DEBUG=DETAIL).

    Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[4], ...),
    but Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=7OpType=BARRIER)
    Rank 0 is running inconsistent collective: CollectiveFingerPrint(OpType=REDUCE, ...)        before 1.12

Source: PyTorch's ProcessGroupWrapper.cpp, 1.9 to 2.12; up to 1.12 the second rank's is the operation's name alone.
"""

import re

from railgauge.topo.files.lines import LONGEST, lines_saying
from railgauge.topo.jobs.hang.model import Complaint, JobState, named

TELLING = (b"CollectiveFinger",)
WRAPPED = re.compile(r" *\r?\n *(?:\[?rank ?\d{1,7}\]?: ?)?")
"""The end of a line in the middle of a report, as terminals and PyTorch's own words have it."""
RUNNING = re.compile(
    r"Rank ?(\d{1,7}) ?is ?running ?(?:inconsistent ?)?collective: ?"
    r"(?:CollectiveFingerPrint\((?:SequenceNumber=(\d{1,20}),? ?)?OpType=)?(\w{2,64})"
    r"(?:, ?TensorShape=(\[[\d, ]{0,512}\]))?(?:, ?TensorDtypes=(\w{1,32}))?"
)
CARD = "operation-mismatch"
REPORT = 1 << 12
"""Bytes of one report, of two ranks."""
MOST = 1 << 17


class Fingerprints:
    """Reads such lines."""

    def __init__(self) -> None:
        self._calls: dict[int, str] = {}

    def read(self, block: bytes) -> bool:
        """Read whole lines of a log; whether any was such a report."""
        told = False
        for begin in lines_saying(TELLING, block):
            end = block.find(b"\n", begin)
            least = min(end - begin if end >= 0 else len(block), LONGEST)
            above = block.rfind(b"\n", max(0, begin - LONGEST), max(0, begin - 1)) + 1  # a wrapped line begins there
            report = block[above : begin + max(REPORT, least)].decode("utf-8", "replace")
            for rank, number, name, shape, dtype in RUNNING.findall(WRAPPED.sub("", report)):
                told = True
                if len(self._calls) < MOST:
                    parts = name.lower(), f"#{number}" if number else "", f"of {shape} {dtype.lower()}" if shape else ""
                    self._calls.setdefault(int(rank), " ".join(filter(None, parts)).rstrip())
        return told

    def put(self, scene: JobState) -> None:
        """Add who called what to a scene."""
        by_call: dict[str, list[int]] = {}
        for rank, call in self._calls.items():
            by_call.setdefault(call, []).append(rank)
        ordered = sorted(by_call.items(), key=lambda one: (len(one[1]), one[1]))
        if ordered:
            said = "; ".join(f"{named(ranks)} called {call}" for call, ranks in ordered)
            other = "; another rank called something else" if len(ordered) == 1 else ""
            text = f"ranks called different operations, says PyTorch: {said}{other}"
            scene.complaints[Complaint(CARD, named(self._calls), text)] = None
