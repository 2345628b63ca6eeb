# SPDX-License-Identifier: Apache-2.0
"""The text of ncclras: communicators with a problem, and the ranks that deviate.

NCCL 2.24 and 2.25 count all collectives together and list `The missing rank: 21`; since 2.26 each kind is counted by
itself and a missing rank has a line of its own. Ranks are named where they are few (`ncclras -v`: less than half).
Source: NCCL's src/ras/client_support.cc.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from railgauge.topo.jobs.hang.model import (
    COLLECTIVES,
    GONE,
    Complaint,
    JobCommunicator,
    JobState,
    Lane,
    Status,
    Track,
    counted,
)
from railgauge.topo.jobs.hang.ras_looks import SOURCE
from railgauge.topo.values.cpuset import from_list
from railgauge.topo.values.printable import one_line

LOOKS_LIKE = re.compile(
    rb"^(?:.{0,96}[\s:>|])?(?:#\d+-\d+ \([0-9a-f]+\) [A-Z]|Communicators\.\.\.|No communicator data collected!)", re.M
)
GROUP = re.compile(r"(\d{1,6}) +(\d{1,6}) +(\d{1,6}) +[\d-]+ +(\d{1,6}) +\d+ +([A-Z]+) +([A-Z,]+)$")
COMMUNICATOR = re.compile(r"#(\d+)-\d+ \(([0-9a-f]{1,16})\) ([A-Z]+)$")
TOTALS = re.compile(r"\(total\)(?: .*)? \(total\) +\(total\)$")
"""The heads of the job's totals, of which the last two are processes and GPUs."""
TOTAL = re.compile(r"(?:\d{1,7} +){1,4}?(\d{1,7}) +\d{1,7}$")
PROCESS = re.compile(r"Process (\d+) on node (\S+) managing GPUs? (.+)$")
COUNTS = re.compile(r"Communicator ranks have different (\w+) operation counts$")
MISSING = re.compile(r"The missing ranks?: ((?:\d{1,7},?)+)$")
RANKS_AT = re.compile(
    r"(\d{1,7}) ranks? ha(?:ve|s) (?:launched up to operation (\d{1,19})|not launched any operations)$"
)
RANKS_ARE = re.compile(r"(\d{1,7}) ranks? ha(?:ve|s) status ([A-Z]+)$")
RANKS_REPORT = re.compile(r"\d+ ranks? reported (.+)$")
PROBLEM = re.compile(
    r"(?P<missing>Missing communicator data from (?:\d{1,7} job process(?:es)?|(?P<ranks>\d{1,7}) ranks?)$"
    r"|\d{1,7} job process(?:es are| is) considered dead|Encountered \d{1,7} communication timeouts?)"
    r"|(?:Initialization|Asynchronous) errors? on \d{1,7} ranks?$"
)
"""How many ranks or processes have a problem; the lines below name them, where they are few."""
CARDS = {"MISMATCH": "rank-behind", "ERROR": "rank-failed", "INCOMPLETE": "rank-missing"}
"""The finding of each error in the table of groups, where the details of a group are not in the file."""
UNKNOWN_RANKS = re.compile(r"(?:The unknown ranks: |Rank )((?:\d{1,7},?)+)(?: has status UNKNOWN)?$")
RANK = re.compile(
    r"Rank (\d{1,7})(?: (.*?))? -- (?:GPU \S+(?: \(NVML \d+\))? managed by (process \d+) on node (\S+)|\[)"
)
RANK_ALONE = re.compile(
    r"Rank (\d{1,7}) (has (?:launched up to operation \d{1,19}|not launched any operations|status [A-Z]+))()()$"
)
"""As people quote it, without its process."""
RANK_AT = re.compile(r"has (?:launched up to operation (\d{1,19})|not launched any operations)$")
RANK_IS = re.compile(r"has status ([A-Z]+)$")
RANK_REPORTS = re.compile(r"reported (.+)$")
DEAD = "is dead"
MOST_NAMED = 4
"""Processes that one finding names."""
STATUS = {"INIT": Status.STARTING, "RUNNING": Status.RUNNING, "FINALIZE": Status.LEFT, "ABORT": Status.LEFT}
STATUS |= {"NOCOMM": Status.LEFT, "UNKNOWN": Status.LEFT}


@dataclass(slots=True)
class _Values:
    """How many ranks are said to be at each value, and which."""

    told: dict[str, int] = field(default_factory=dict)
    ranks: dict[int, str] = field(default_factory=dict)

    def by_rank(self, others: Iterable[int]) -> dict[int, str]:
        """The value of each rank: those that are not named have the one value that has no names."""
        nameless = [value for value in self.told if value not in self.ranks.values()]
        return (
            self.ranks | dict.fromkeys(set(others) - set(self.ranks), nameless[0]) if len(nameless) == 1 else self.ranks
        )


class RasText:
    """Reads the lines of one output of ncclras into a scene."""

    def __init__(self, scene: JobState) -> None:
        self._scene = scene
        self._groups: dict[str, tuple[int, int]] = {}
        self._sections: set[str] = set()
        self._gone: dict[str, str] = {}  # by process, how RAS says it: those that it does not reach
        self._comm: JobCommunicator | None = None
        self._section = ""
        self._lane: str | None = None
        self._values = _Values()
        self._value = ""
        self._before = ""
        self._errors: dict[str, tuple[str, str]] = {}  # by group: of how many communicators, and which
        self._problem: Complaint | None = None
        self._group_of_comm = ""

    def read(self, lines: Iterable[str]) -> None:
        """Take in all lines."""
        for line in lines:
            self._line(text := one_line(line))
            self._before = text
        self._settle()
        self._put_gone()
        for about, errors in self._errors.values():  # of which there are no details
            for error in errors.split(","):
                text = f"RAS reports {error} in {about}; the details are not in the file"
                self._scene.complaints[Complaint(CARDS.get(error, CARDS["ERROR"]), about, text)] = None

    def _line(self, line: str) -> None:
        if not line:
            self._settle()
        elif found := PROBLEM.match(line):
            if self._comm and self._is_more(int(found["ranks"] or 0)):
                return
            self._problem = self._complaint(CARDS["INCOMPLETE" if found["missing"] else "ERROR"], f"RAS: {line}")
        elif TOTALS.match(self._before) and (found := TOTAL.match(line)):
            self._scene.size = int(found[1])
        elif found := COMMUNICATOR.match(line):
            self._begin(found)
        elif found := GROUP.match(line):
            self._group(found)
        elif line in ("DEAD", "INCOMPLETE"):
            self._settle()
            self._comm, self._section = None, line
            self._sections.add(line)
        elif found := PROCESS.match(line):
            self._problem = None
            how = DEAD if self._section == "DEAD" else "does not answer"
            self._gone[f"process {found[1]} on node {found[2]}"] = f"(GPU {found[3]}) {how}"
        elif self._comm:
            self._of_communicator(self._comm, line)

    def _group(self, found: re.Match[str]) -> None:
        group, size, status = found[1], int(found[4]), found[5]
        self._groups[group] = size, int(found[3])
        if not size:
            self._scene.note(
                f"RAS lists {counted(int(found[2]), 'communicator')} without a rank ({status}): not counted"
            )
            return
        if found[6] != "OK":
            about = f"{counted(int(found[2]), 'communicator')} of {counted(size, 'rank')}"
            self._errors[group] = about, found[6]
            return
        if status == "INIT":  # a communicator without a problem has only this row
            name = f"number {group}"
            comm = self._scene.communicator(name, SOURCE, JobCommunicator(name, "RAS's group", size=size))
            comm.status = dict.fromkeys(range(size), Status.STARTING)
            return
        of = f"{counted(int(found[2]), 'communicator')} of {counted(size, 'rank')} each"
        self._scene.note(f"RAS: no problem found in {of} (status {status})")

    def _begin(self, found: re.Match[str]) -> None:
        self._settle()
        name = f"0x{int(found[2], 16):x}"
        size, nodes = self._groups.get(found[1], (None, None))
        self._group_of_comm = found[1]
        self._comm = self._scene.communicator(name, SOURCE, JobCommunicator(name, size=size, node_count=nodes))
        self._section = found[3]

    def _of_communicator(self, comm: JobCommunicator, line: str) -> None:
        if found := COUNTS.match(line):
            self._settle()
            self._lane = COLLECTIVES if found[1] == "collective" else found[1]
        elif line == "Communicator ranks have different status":
            self._settle()
        elif found := MISSING.match(line):
            dead = "INCOMPLETE" not in self._sections  # none of those that are alive is missing
            comm.status |= dict.fromkeys(from_list(found[1]), Status.DEAD if dead else Status.SILENT)
            self._problem = None
        elif found := UNKNOWN_RANKS.match(line):
            self._values.ranks |= dict.fromkeys(from_list(found[1]), "UNKNOWN")
            self._values.told.setdefault("UNKNOWN", 1)
        elif found := RANKS_AT.match(line):
            self._told(found[2] or "0", int(found[1]))
        elif found := RANKS_ARE.match(line):
            self._told(found[2], int(found[1]))
        elif found := RANKS_REPORT.match(line):
            self._value = found[1]
        elif found := RANK.match(line) or RANK_ALONE.match(line):
            self._rank(comm, int(found[1]), found)

    def _is_more(self, ranks: int) -> bool:
        """Whether these are more ranks than the communicator has by the table: RAS's own error."""
        size = self._groups.get(self._group_of_comm, (None, None))[0]
        if size is None or ranks <= size:
            return False
        self._scene.note(f"RAS reports {counted(ranks, 'rank')} missing of a communicator of {size}: not counted")
        return True

    def _told(self, value: str, ranks: int) -> None:
        self._value = value
        self._values.told[value] = ranks

    def _complaint(self, card: str, text: str) -> Complaint:
        about = self._comm.described if self._comm else "the job"
        return Complaint(card, about, f"{text} ({about})" if self._comm else text)

    def _rank(self, comm: JobCommunicator, rank: int, found: re.Match[str]) -> None:
        self._problem = None
        if rank >= self._groups.get(self._group_of_comm, (rank + 1, None))[0]:
            return
        said = found[2] or ""
        if found[4]:
            comm.nodes[rank] = found[4]
        if self._section == "INCOMPLETE":
            process = f"{found[3]} on node {found[4]}"
            dead = self._gone.get(process, "").endswith(DEAD)
            comm.status[rank] = Status.DEAD if dead else Status.SILENT
            if found[3]:
                comm.trouble[rank] = f"{process} {'is dead, says RAS' if dead else 'does not answer RAS'}"
        elif self._section == "ERROR":
            reported = RANK_REPORTS.match(said)
            comm.trouble[rank] = reported[1] if reported else self._value
        else:
            one = RANK_AT.match(said) or RANK_IS.match(said)
            value = (one[1] or "0") if one else self._value
            if one:
                self._values.told[value] = 1
            self._values.ranks[rank] = value

    def _put_gone(self) -> None:
        """Processes that RAS does not reach: a finding of their own where no communicator has them as ranks."""
        said = [f"{process} {how}" for process, how in self._gone.items()]
        if not said or any(
            status in GONE for comm in self._scene.communicators.values() for status in comm.status.values()
        ):
            for one in said:
                self._scene.note(f"RAS: {one}")
            return
        more = f" and {len(said) - MOST_NAMED} more" if len(said) > MOST_NAMED else ""
        text = f"RAS: {'; '.join(said[:MOST_NAMED])}{more}; its ranks are not in the file"
        self._scene.complaints[Complaint(CARDS["INCOMPLETE"], "the job", text)] = None

    def _settle(self) -> None:
        """Give the ranks their facts from the lines since the last blank one."""
        comm, values, lane = self._comm, self._values, self._lane
        if comm and (values.told or comm.status or comm.trouble or self._problem):
            self._errors.pop(self._group_of_comm, None)  # the details are there
        self._values, self._lane, self._value = _Values(), None, ""
        if self._problem:
            self._scene.complaints[self._problem] = None
            self._problem = None
        if not comm or not values.told:
            return
        others = [rank for rank in range(comm.size or 0) if comm.status.get(rank) not in GONE]
        by_rank = values.by_rank(others)
        if lane is None:
            comm.status |= {rank: STATUS[value] for rank, value in by_rank.items() if value in STATUS}
            if unnamed := {value: ranks for value, ranks in values.told.items() if value not in by_rank.values()}:
                card = "start-stuck" if "INIT" in values.told else "rank-left"
                parts = ", ".join(f"{ranks} {value}" for value, ranks in unnamed.items())
                self._scene.complaints[self._complaint(card, f"ranks have different status: {parts}")] = None
            return
        _count(comm.lane(lane), values, by_rank)


def _count(lane: Lane, values: _Values, by_rank: dict[int, str]) -> None:
    """The counts of operations; a status among them, as in a damaged report, is none."""
    for rank, value in by_rank.items():
        if value.isdecimal():
            lane.put(rank, Track(int(value)))
    named = by_rank.values()
    lane.unnamed |= {
        int(value): ranks for value, ranks in values.told.items() if value.isdecimal() and value not in named
    }
