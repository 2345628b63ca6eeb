# SPDX-License-Identifier: Apache-2.0
"""The operations in a trace of PARAM's comms replay, of one rank: a list of entries with `comms`, sizes in elements.

`init` entries have the ranks of a process group. A replayed trace has times: `latency_us`, and `global_latency_us` from
all ranks. Source: PARAM's et_replay (commsTraceParser.py, comms_utils.py).
"""

import os
from typing import Any

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.hang.flight_dump import NUMBER, RANK
from railgauge.topo.jobs.traces.calls import RankCalls
from railgauge.topo.jobs.traces.checked import count, microseconds, number, ranks_in
from railgauge.topo.jobs.traces.trace import Trace, TracedGroup
from railgauge.topo.values.printable import one_line

KIND = "PARAM trace"
DEFAULT = "0"
"""The process group of all ranks."""


class ParamTraceReader:
    """Takes the entries of one trace."""

    def __init__(self, path: str, trace: Trace) -> None:
        name = os.path.basename(path)
        found = RANK.search(name) or NUMBER.search(name)
        self._rank = int(found[1]) if found else None
        self._path, self._trace = path, trace
        self._calls = RankCalls(trace, path if self._rank is None else self._rank, path)
        self._groups: dict[str, tuple[int, ...]] = {}
        self._some = False

    def take(self, _key: str, value: Any) -> None:
        """Take an entry; what is none is passed over."""
        if not isinstance(value, dict) or not isinstance(name := value.get("comms"), str):
            return
        self._some = True
        ranks = ranks_in(value.get("global_ranks"))
        group = str(value.get("pg_id", DEFAULT))
        if ranks:
            self._groups[group] = ranks
        members = self._groups.get(group, ())
        size = len(members) or number(value.get("world_size")) or 0
        if not members and group == DEFAULT and 0 < size < 1 << 20:
            members = self._groups[group] = tuple(range(size))
        self._trace.world = max(self._trace.world, max(members, default=-1) + 1)
        self._calls.take(
            name,
            (count(value.get("in_msg_size")), count(value.get("out_msg_size"))),
            str(value.get("dtype", "float" if "barrier" in name else "")),
            TracedGroup(name=one_line(group), size=size, ranks=members),
            peers=self._peers(value),
            root=_root(number(value.get("root")), members),
            measured_us=microseconds(value.get("global_latency_us")) or microseconds(value.get("latency_us")),
        )

    def finish(self) -> None:
        """InputError if there was no entry."""
        if not self._some:
            raise InputError("no entry with `comms`: not a comms trace of PARAM", self._path)
        self._trace.kinds.add(KIND)

    def _peers(self, value: dict[str, Any]) -> tuple[int, int] | None:
        source, target = number(value.get("src_rank")), number(value.get("dst_rank"))
        source, target = (self._rank if source is None else source), (self._rank if target is None else target)
        return None if source is None or target is None else (source, target)


def _root(rank: int | None, members: tuple[int, ...]) -> int:
    """The root as a rank of its group."""
    return members.index(rank) if rank is not None and rank in members else 0
