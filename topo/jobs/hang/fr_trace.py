# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's own analyser of flight records (torchfrtrace) prints: it names who is missing or called otherwise.

    Not all ranks joining collective 41 at entry 40        Collective 39 at entry 38 errors
    Not all ranks joining collective: sequence number: 41
    collective: nccl:all_reduce                            collective: nccl:all_reduce
    missing ranks: {3, 5}                                  error msg: Culprit rank 22; Error type: SIZE_OR_SYNTAX_...

Source: PyTorch's torch/distributed/flight_recorder, 2.5 to 2.15.
"""

import re

from railgauge.topo.files.lines import LONGEST, lines_saying
from railgauge.topo.jobs.hang.model import Complaint, JobState, named
from railgauge.topo.values.printable import one_line

TELLING = (b"ollective ", b"collective: ", b"missing ranks: {", b"Culprit rank ")
BEGIN = re.compile(r"(?:joining collective|Collective):? (?:sequence number: )?(\d{1,18})(?: at entry \d{1,18}|\s*$)")
NAME = re.compile(r"\bcollective: (?:\w{1,16}:)?(\w{1,64})\s*$")
MISSING = re.compile(r"missing ranks: \{(\d{1,7}(?:, ?\d{1,7}){0,8191})\}")
CULPRIT = re.compile(r"Culprit rank (\d{1,7}); Error type: (\w{1,64})(?:, (?!Culprit)(.{1,512}?))?(?=, Culprit|\s*$)")
MOST = 1 << 10


class FrTrace:
    """Reads such lines."""

    def __init__(self) -> None:
        self._number, self._name = "", ""
        self._said: dict[Complaint, None] = {}

    def read(self, block: bytes) -> bool:
        """Read whole lines of a log; whether any was of the analyser."""
        before = len(self._said)
        for begin in lines_saying(TELLING, block):
            end = block.find(b"\n", begin)
            self._line(block[begin : min(end if end >= 0 else len(block), begin + LONGEST)].decode("utf-8", "replace"))
        return len(self._said) > before

    def put(self, scene: JobState) -> None:
        """Add their facts to a scene."""
        scene.complaints |= self._said

    def _line(self, text: str) -> None:
        if found := BEGIN.search(text):
            self._number, self._name = found[1], ""
        elif found := NAME.search(text):
            self._name = found[1]
        elif self._number and (found := MISSING.search(text)):
            ranks = list(map(int, found[1].split(",")))
            has = "has" if len(ranks) == 1 else "have"
            self._say("rank-behind", named(ranks), f"{named(ranks)} {has} not entered {self._operation}")
        elif self._number:
            kinds: dict[str, list[int]] = {}
            for rank, kind, how in CULPRIT.findall(text):
                kinds.setdefault(f"{kind}{f': {one_line(how)}' if how else ''}", []).append(int(rank))
            for how, ranks in kinds.items():
                self._say(
                    "operation-mismatch", named(ranks), f"{named(ranks)} called {self._operation} otherwise: {how}"
                )

    @property
    def _operation(self) -> str:
        return f"{self._name or 'collective'} #{self._number}"

    def _say(self, card: str, who: str, text: str) -> None:
        if len(self._said) < MOST:
            self._said[Complaint(card, who, f"{text}, says torchfrtrace")] = None
