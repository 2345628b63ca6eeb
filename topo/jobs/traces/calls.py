# SPDX-License-Identifier: Apache-2.0
"""Takes the calls of one rank, as a trace names them, into a Trace."""

from collections import Counter

from railgauge.topo.jobs.traces.names import Message, NoData, collective_of, dtype_of, is_barrier
from railgauge.topo.jobs.traces.trace import MOST_ELEMENTS, Source, Trace, TracedGroup, TracedOperation
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.values.printable import one_line

LONGEST_NAME = 60
BARRIER_TYPE = "Float"
"""Of the one element that NCCL's barrier reduces; a trace of Gloo's has none."""


class RankCalls:
    """The calls of one rank, in their order."""

    def __init__(self, trace: Trace, source: Source, path: str) -> None:
        self._trace, self._source, self._path = trace, source, path
        self._numbers: Counter[tuple[str, tuple[int, ...]]] = Counter()

    def take(
        self,
        name: str,
        elements: tuple[int, int],
        dtype: str,
        group: TracedGroup,
        *,
        peers: tuple[int, int] | None = None,
        number: int | None = None,
        redop: str = "sum",
        root: int = 0,
        step: int | None = None,
        measured_us: float | None = None,
    ) -> None:
        """Take a call; one that cannot be billed is counted with the reason.

        `elements` of this rank's input and output; `peers`: who sends and who receives a message, by their ranks in the
        job; `number`: of the call in its group, counted here if the trace has none.
        """
        found = collective_of(name)
        of = dtype_of(dtype or BARRIER_TYPE * is_barrier(name))
        if isinstance(found, NoData):
            return
        if isinstance(found, Message):
            if peers is None or peers[0] == peers[1]:
                self._trace.leave_out("a message without two ends")
                return
            group = TracedGroup(name=f"{peers[0]}->{peers[1]}", size=2, ranks=peers)
            found, number, root = Collective.SEND_RECV, None, 0
        if why := _unusable(name, found, dtype, of, group, elements):
            self._trace.leave_out(why)
            return
        assert found
        assert of
        total = max(total_of(found, *elements, group.size), int(is_barrier(name))) * of[1]
        if total == 0:
            self._trace.leave_out("no data")
            return
        operation = TracedOperation(
            collective=found,
            elements=total,
            dtype=of[0],
            group=group,
            number=self._number(group) if number is None else number,
            redop=redop,
            root=root if 0 <= root < group.size else 0,
            step=step,
            measured_us=measured_us,
        )
        self._trace.add(self._source, operation, self._path)

    def _number(self, group: TracedGroup) -> int:
        key = group.name, group.ranks
        self._numbers[key] += 1
        return self._numbers[key]


def total_of(collective: Collective, into: int, out: int, ranks: int) -> int:
    """Elements as nccl-tests counts them, by those of a rank's input and output; 0 for the one that is unknown."""
    if collective in (Collective.ALL_GATHER, Collective.GATHER):
        return max(into * ranks, out)
    if collective in (Collective.REDUCE_SCATTER, Collective.SCATTER):
        return max(into, out * ranks)
    return max(into, out)


def _unusable(
    name: str,
    found: Collective | None,
    dtype: str,
    of: tuple[str, int] | None,
    group: TracedGroup,
    elements: tuple[int, int],
) -> str:
    """Why a call cannot be billed; "" if it can."""
    if found is None:
        return f"unknown operation {one_line(name)[:LONGEST_NAME]}"
    if of is None:
        return f"unknown type {one_line(dtype)[:LONGEST_NAME]}"
    if group.size < 1:
        return "the number of ranks is unknown"
    if group.size == 1:
        return "one rank alone"
    if not all(0 <= one <= MOST_ELEMENTS for one in elements):
        return "no such size"
    return ""
