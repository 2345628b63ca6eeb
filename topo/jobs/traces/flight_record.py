# SPDX-License-Identifier: Apache-2.0
"""The operations in the flight record of one rank of a PyTorch job (topo/jobs/hang/flight_dump.py has the format).

The ring keeps the last entries of all groups, over no whole number of steps. `duration_ms` is there with
TORCH_NCCL_ENABLE_TIMING=1, of what is completed.
"""

import os
from typing import Any

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.hang.agreement import elements_of, plain
from railgauge.topo.jobs.hang.first_format import in_second_format
from railgauge.topo.jobs.hang.flight_dump import group_members, is_closing, peers_of, rank_of
from railgauge.topo.jobs.traces.calls import RankCalls
from railgauge.topo.jobs.traces.checked import group_name, microseconds
from railgauge.topo.jobs.traces.trace import Trace, TracedGroup
from railgauge.topo.values.printable import one_line

KIND = "PyTorch flight record"
LONGEST = 200


def read_flight_record(dump: Any, path: str, trace: Trace) -> None:
    """Take the operations of a dump; InputError if it is none."""
    record = in_second_format(dump)
    if not isinstance(record, dict):
        raise InputError("not a flight record of PyTorch, which is a dictionary", path)
    rank = rank_of(os.path.basename(path), record, path)
    calls = RankCalls(trace, rank, path)
    try:
        groups = {str(name): group_members(told)[1] for name, told in record["pg_config"].items()}
        trace.world = max(trace.world, *(max(ranks, default=-1) + 1 for ranks in groups.values()), 0)
        for entry in sorted(record.get("entries") or [], key=lambda one: int(one["record_id"])):
            _take(entry, groups, calls)
    except KeyError as error:
        raise InputError(f"not a flight record of PyTorch: field {error} is missing", path) from None
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise InputError(f"not a flight record of PyTorch: {one_line(str(error))[:LONGEST]}", path) from None
    trace.kinds.add(KIND)


def _take(entry: dict[str, Any], groups: dict[str, tuple[int, ...]], calls: RankCalls) -> None:
    full = plain(entry["profiling_name"]).rpartition(":")[2]
    name, _, ends = full.partition(" ")
    sides = [sum(map(elements_of, entry.get(f"{side}_sizes") or ())) for side in ("input", "output")]
    if is_closing(name):
        return
    group = plain(entry["process_group"][0])
    # Gloo records its default group without a name
    ranks = groups.get(group) or (next(iter(groups.values())) if len(groups) == 1 else ())
    between = peers_of(ends)
    calls.take(
        name,
        (sides[0], sides[1]),
        _dtype(entry),
        TracedGroup(name=group_name(group, entry["process_group"][1]), size=len(ranks), ranks=ranks),
        peers=(ranks[between[0]], ranks[between[1]]) if between and max(between) < len(ranks) else None,
        number=int(entry["collective_seq_id"]),
        measured_us=microseconds(entry.get("duration_ms"), 1e3),
    )


def _dtype(entry: dict[str, Any]) -> str:
    """The type of its tensors."""
    for side in ("input", "output"):
        listed = entry.get(f"{side}_dtypes") or ()
        if listed:
            return listed if isinstance(listed, str) else str(listed[0])
    return ""
