# SPDX-License-Identifier: Apache-2.0
"""What PyTorch says of other ranks than the one that speaks: who is missing in a barrier, and desync reports.

    [Rank 0]: Ranks 3, 5 failed to pass monitoredBarrier in 30000 ms
    Timed out initializing process group in store based barrier on rank: 0, for key: ... (world_size=8, worker_count=7,
    - [3] joined but didn't finish collective #41 (count from 1)
      [0, 1, 2] finished collective #41, but didn't join collective #42

    Ranks [0] are last known progressing comms #11 (op=ALLTOALL_BASE)                  PyTorch's back end of UCC

    StateMonitor:4e4c65:Rank1 : kernel begins at work 55731 may hang in polling       a monitor that is not PyTorch's

Sources: PyTorch's ProcessGroupGloo.cpp, distributed_c10d.py, TraceUtils.h (TORCH_NCCL_DESYNC_DEBUG=1), and torch_ucc.
"""

import re

from railgauge.topo.files.lines import LONGEST, lines_saying
from railgauge.topo.jobs.hang.model import JOB, Call, JobCommunicator, JobState, State, Status, Track, named

SOURCE = "report of PyTorch"
MONITORED = "monitoredBarrier"
"""A barrier in which one rank waits for each other one; it does not know what they called before."""
TELLING = (
    b"monitoredBarrier",
    b"store based barrier",
    b"collective #",
    b"never joined any collectives",
    b"the lagging ranks",
    b" may hang",
    b"last known progressing comms #",
)
RANKS = r"\[?(?P<ranks>\d{1,7}(?:, ?\d{1,7}){0,8191})(?:, ?\.\.\.)?\]?"
LATE = re.compile(rf"[Rr]anks? {RANKS} failed to pass monitoredBarrier")
SPEAKER = re.compile(r"\[Rank (\d{1,7})\]")
STORE = re.compile(
    r"store based barrier on rank:? (?P<rank>\d{1,7}),.{0,256}?world_size=(?P<size>\d{1,7}), "
    r"(?:worker_count|num_workers_joined)=(?P<came>\d{1,9})"
)
INSIDE = re.compile(rf"{RANKS} joined but didn't finish collective #(?P<number>\d{{1,18}})")
OUTSIDE = re.compile(rf"{RANKS} finished collective #(?P<number>\d{{1,18}}), but didn't join")
NEVER = re.compile(rf"ranks {RANKS} are the lagging ranks")
HUNG = re.compile(r"\b[Rr]ank[ :#=]?(?P<rank>\d{1,7})\b.{0,120}? may hang\b")
"""What monitors of other programs say of one rank, such as those that clouds build into NCCL."""
PROGRESSING = re.compile(
    r"Ranks \[ ?(?P<ranks>\d{1,7}(?:[ ,]{1,2}\d{1,7}){0,8191}) ?\] are last known progressing comms "
    r"#(?P<number>\d{1,18}) \(op=(?P<name>\w{1,64})\)"
)
MOST = 1 << 17


class TorchReports:
    """Reads such lines."""

    def __init__(self) -> None:
        self._late: dict[int, None] = {}
        self._speakers: dict[int, None] = {}
        self._starting: dict[int, tuple[int, int]] = {}  # by rank: how many there should be, and how many came
        self._hung: dict[int, None] = {}
        self._of_ucc: dict[int, tuple[int, str]] = {}  # by rank: the last collective that it is known to have called
        self._desync: dict[int, tuple[int, int]] = {}  # by rank: the last collective that it called, and that is over

    def read(self, block: bytes) -> bool:
        """Read whole lines of a log; whether any was a report."""
        told = False
        for begin in lines_saying(TELLING, block):
            end = block.find(b"\n", begin)
            line = block[begin : min(end if end >= 0 else len(block), begin + LONGEST)]
            told = self._line(line.decode("utf-8", "replace")) or told
        return told

    def put(self, scene: JobState) -> None:
        """Add their facts to a scene."""
        if self._late:
            comm = _communicator(scene, "of gloo")
            call = Call(1, MONITORED, State.SCHEDULED, timed_out=True)
            for rank in self._late:
                comm.lane(MONITORED).put(rank, Track(0, 0))
            for rank in (self._speakers or {0: None}).keys() - self._late.keys():
                comm.lane(MONITORED).put(rank, Track(1, 0, {1: call}))
        for rank, (size, came) in sorted(self._starting.items()):
            comm = _communicator(scene, "at its start", size)
            comm.status[rank] = Status.STARTING
            scene.note(f"{came} of {size} ranks had reached the start of the process group when rank {rank} gave up")
        if self._hung:
            scene.heard |= self._hung
            scene.note(f"a monitor says that {named(self._hung)} may hang; on which operation is not in the log")
        for rank, (number, name) in sorted(self._of_ucc.items()):
            call = Call(number, name.lower(), State.CALLED)
            _communicator(scene, "of UCC").lane().put(rank, Track(number, None, {number: call}))
        for rank, (entered, over) in sorted(self._desync.items()):
            calls = {entered: Call(entered, "", State.SCHEDULED, timed_out=True)} if entered > over else {}
            _communicator(scene, "of a desync report").lane().put(rank, Track(entered, over, calls))

    def _line(self, text: str) -> bool:
        if found := LATE.search(text):
            self._late |= dict.fromkeys(_ranks(found)[: MOST - len(self._late)])
            self._speakers |= dict.fromkeys(map(int, SPEAKER.findall(text[: found.start()])[-1:]))
        elif found := STORE.search(text):
            if len(self._starting) < MOST:
                self._starting[int(found["rank"])] = int(found["size"]), int(found["came"])
        elif found := INSIDE.search(text):
            self._stand(found, int(found["number"]), int(found["number"]) - 1)
        elif found := OUTSIDE.search(text):
            self._stand(found, int(found["number"]), int(found["number"]))
        elif found := NEVER.search(text):
            self._stand(found, 0, 0)
        elif found := PROGRESSING.search(text):
            ranks = map(int, re.findall(r"\d+", found["ranks"]))
            told = int(found["number"]), found["name"]
            self._of_ucc |= dict.fromkeys([*ranks][: MOST - len(self._of_ucc)], told)
        elif (found := HUNG.search(text)) and len(self._hung) < MOST:
            self._hung[int(found["rank"])] = None
        return found is not None

    def _stand(self, found: re.Match[str], entered: int, over: int) -> None:
        for rank in _ranks(found)[: MOST - len(self._desync)]:
            self._desync[rank] = entered, over


def _communicator(scene: JobState, name: str, size: int | None = None) -> JobCommunicator:
    return scene.communicator(f"group {name}", SOURCE, JobCommunicator(name, "process group", "", JOB, size))


def _ranks(found: re.Match[str]) -> list[int]:
    return [int(rank) for rank in found["ranks"].split(",")]
