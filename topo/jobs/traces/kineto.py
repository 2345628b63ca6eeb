# SPDX-License-Identifier: Apache-2.0
"""The operations in a trace of PyTorch's profiler (Kineto, Chrome's trace format), of one rank.

An operation is an event `record_param_comms` with what was called in `args`; the kernel that it started has the same
`External id`, and its duration is the time on the GPU, waiting for other ranks included. Steps are the events
`ProfilerStep#N`. `distributedInfo` has the rank, and the ranks of each process group (PyTorch 2.4 on).
Source: PyTorch's torch/csrc/profiler/util.cpp (saveNcclMeta), Kineto's libkineto/src/output_json.cpp.
"""

import os
import re
from bisect import bisect_right
from typing import Any, NamedTuple

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.hang.flight_dump import RANK
from railgauge.topo.jobs.traces.calls import RankCalls
from railgauge.topo.jobs.traces.checked import count, group_name, microseconds, number, ranks_in
from railgauge.topo.jobs.traces.trace import MOST_OPERATIONS, Source, Trace, TracedGroup

KIND = "Kineto trace"
COLLECTIVE = "Collective name"
STEP = re.compile(r"ProfilerStep#(\d{1,12})")
CALL, ANNOTATION, KERNEL = "record_param_comms", "nccl:", "kernel"
ON_GPU = ("kernel", "gpu_user_annotation")
NONE = (
    "no collective with its size: PyTorch 2.2 and later write them; profile with ProfilerActivity.CPU and CUDA, and "
    "with torch.distributed in use"
)


class _Event(NamedTuple):
    begin: float
    args: dict[str, Any]
    us: float | None


class KinetoReader:
    """Takes the parts of one trace (`json_items`)."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._calls: list[_Event] = []
        self._annotations: list[_Event] = []
        self._kernels: list[_Event] = []
        self._on_gpu: dict[str, float] = {}  # by external id
        self._steps: list[tuple[float, float, int]] = []
        self._info: dict[str, Any] = {}

    def take(self, key: str, value: Any) -> None:
        """Take a part; one that says nothing of collectives is passed over."""
        if not isinstance(value, dict):
            return
        if key == "distributedInfo":
            self._info = value
        elif isinstance(name := value.get("name"), str):
            self._event(name, value)

    def finish(self, trace: Trace) -> None:
        """Take the operations into a trace; InputError without any."""
        events = self._calls or self._annotations or self._kernels
        if not events:
            raise InputError(NONE, self._path)
        trace.world = max(trace.world, number(self._info.get("world_size")) or 0)
        self._steps.sort()
        calls, groups = RankCalls(trace, self._source(), self._path), self._groups()
        for event in sorted(events, key=lambda one: one.begin):
            self._take(event, calls, groups)
        trace.kinds.add(KIND)

    def _event(self, name: str, event: dict[str, Any]) -> None:
        args, begin = event.get("args"), event.get("ts")
        us = microseconds(event.get("dur"))
        if not isinstance(begin, (int, float)):
            return
        kind = event.get("cat")
        if (found := STEP.fullmatch(name)) and kind not in ON_GPU and us:
            self._steps.append((begin, begin + us, int(found[1])))
        if not isinstance(args, dict):
            return
        on_gpu = kind == KERNEL
        if on_gpu and us and ("nccl" in name.lower() or COLLECTIVE in args) and "External id" in args:
            outer = str(args["External id"])
            self._on_gpu[outer] = self._on_gpu.get(outer, 0.0) + us
        if COLLECTIVE in args:
            kept = self._kernels if on_gpu else self._calls if name == CALL else self._annotations
            kept.append(_Event(begin, args, us if on_gpu else None))
            if len(kept) > MOST_OPERATIONS:
                raise InputError(f"more than {MOST_OPERATIONS} operations: profile fewer steps", self._path)

    def _take(self, event: _Event, calls: RankCalls, groups: dict[str, tuple[int, ...]]) -> None:
        args = event.args
        group = _group(args, groups)
        rank = self._source()
        root = number(args.get("Root rank"))
        calls.take(
            str(args[COLLECTIVE]),
            (count(args.get("In msg nelems")), count(args.get("Out msg nelems"))),
            str(args.get("dtype", "")),
            group,
            peers=_peers(args, rank),
            number=number(args.get("Seq")),
            root=root if root is not None else 0,
            step=self._step(event.begin),
            measured_us=event.us or self._on_gpu.get(str(args.get("External id"))),
        )

    def _step(self, begin: float) -> int | None:
        at = bisect_right(self._steps, begin, key=lambda step: step[0]) - 1
        return self._steps[at][2] if at >= 0 and begin < self._steps[at][1] else None

    def _source(self) -> Source:
        rank = number(self._info.get("rank"))
        named = RANK.search(os.path.basename(self._path))
        return rank if rank is not None and rank >= 0 else int(named[1]) if named else self._path

    def _groups(self) -> dict[str, tuple[int, ...]]:
        """The ranks of process groups by name."""
        listed = self._info.get("pg_config")
        told = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        return {str(one.get("pg_name")): ranks_in(one.get("ranks")) for one in told}


def _group(args: dict[str, Any], groups: dict[str, tuple[int, ...]]) -> TracedGroup:
    """The group of a call; a long list of ranks is shortened in it (`[0, 1, ..., 63]`)."""
    name = str(args.get("Process Group Name", ""))
    size = number(args.get("Group size")) or 0
    ranks = ranks_in(args.get("Process Group Ranks")) or groups.get(name, ())
    start, stride = number(args.get("Global rank start")), number(args.get("Global rank stride"))
    if not ranks and start is not None and stride and 1 < size < 1 << 20:
        ranks = tuple(range(start, start + size * stride, stride))
    about = args.get("Process Group Description")
    return TracedGroup(name=group_name(name, about), size=len(ranks) or size, ranks=ranks)


def _peers(args: dict[str, Any], rank: Source) -> tuple[int, int] | None:
    """Who sends and who receives a message."""
    source, target = number(args.get("Src Rank")), number(args.get("Dst Rank"))
    own = rank if isinstance(rank, int) else None
    source, target = (own if source is None else source), (own if target is None else target)
    return None if source is None or target is None else (source, target)
