# SPDX-License-Identifier: Apache-2.0
"""Ranks that PyTorch caught calling different collectives, and what each called last (TORCH_DISTRIBUTED_DEBUG=DETAIL).

    Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[4], ...),
    but Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=7OpType=BARRIER)
    Rank 0 is running inconsistent collective: CollectiveFingerPrint(OpType=REDUCE, ...)        before 1.12
    [I ProcessGroupWrapper.cpp:562] [Rank 3] Running collective: CollectiveFingerPrint(SequenceNumber=18, ...)

Source: PyTorch's ProcessGroupWrapper.cpp, 1.9 to 2.12; up to 1.12 the second rank's is the operation's name alone.
"""

import re
from collections.abc import Mapping

from railgauge.topo.files.lines import LONGEST, lines_saying
from railgauge.topo.jobs.hang.model import Complaint, JobState, named

TELLING = (b"CollectiveFinger",)
WRAPPED = re.compile(r" *\r?\n *(?:\[?rank ?\d{1,7}\]?: ?)?")
"""The end of a line in the middle of a report, as terminals and PyTorch's own words have it."""
CALL = (
    r"(?:CollectiveFingerPrint\((?:SequenceNumber=(\d{1,20}),? ?)?OpType=)?(\w{2,64})"
    r"(?:, ?TensorShape=(\[[\d, ]{0,512}\]))?(?:, ?TensorDtypes=(\w{1,32}))?"
)
RUNNING = re.compile(rf"Rank ?(\d{{1,7}}) ?is ?running ?(?:inconsistent ?)?collective: ?{CALL}")
TRACED = re.compile(rf"\[Rank ?(\d{{1,7}})\] ?Running ?collective: ?{CALL}")
"""What each rank logs of each call, before the ranks compare it."""
CARD, SHORT = "operation-mismatch", "evidence-short"
REPORT = 1 << 12
"""Bytes of one report, of two ranks."""
MOST = 1 << 17


class Fingerprints:
    """Reads such lines."""

    def __init__(self) -> None:
        self._calls: dict[int, str] = {}
        self._last: dict[int, str] = {}

    def read(self, block: bytes) -> bool:
        """Read whole lines of a log; whether any was such a report."""
        told = False
        for begin in lines_saying(TELLING, block):
            end = block.find(b"\n", begin)
            least = min(end - begin if end >= 0 else len(block), LONGEST)
            above = block.rfind(b"\n", max(0, begin - LONGEST), max(0, begin - 1)) + 1  # a wrapped line begins there
            report = block[above : begin + max(REPORT, least)].decode("utf-8", "replace")
            text = WRAPPED.sub("", report)
            for rank, *call in RUNNING.findall(text):
                told = True
                if len(self._calls) < MOST:
                    self._calls.setdefault(int(rank), _said(*call))
            for rank, *call in TRACED.findall(text):
                told = True
                if len(self._last) < MOST:
                    self._last[int(rank)] = _said(*call)
        return told

    def put(self, scene: JobState) -> None:
        """Add who called what to a scene."""
        if ordered := _alike(self._calls):
            said = "; ".join(f"{named(ranks)} called {call}" for call, ranks in ordered)
            other = "; another rank called something else" if len(ordered) == 1 else ""
            text = f"ranks called different operations, says PyTorch: {said}{other}"
            scene.complaints[Complaint(CARD, named(self._calls), text)] = None
        elif ordered := _alike(self._last):
            said = "; ".join(f"{named(ranks)} called {call} last" for call, ranks in ordered)
            text = f"{said}, as PyTorch logs before each operation; whether it ended is not in the log"
            scene.complaints[Complaint(SHORT, named(self._last), text)] = None


def _said(number: str, name: str, shape: str, dtype: str) -> str:
    """`allreduce #7 of [4] float`."""
    parts = name.lower(), f"#{number}" if number else "", f"of {shape} {dtype.lower()}" if shape else ""
    return " ".join(filter(None, parts)).rstrip()


def _alike(calls: Mapping[int, str]) -> list[tuple[str, list[int]]]:
    """The ranks of each call, the fewest first."""
    by_call: dict[str, list[int]] = {}
    for rank, call in calls.items():
        by_call.setdefault(call, []).append(rank)
    return sorted(by_call.items(), key=lambda one: (len(one[1]), one[1]))
