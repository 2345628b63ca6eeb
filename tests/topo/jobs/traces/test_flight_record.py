# SPDX-License-Identifier: Apache-2.0
"""Flight records of PyTorch as traces: pickles and JSON."""

import copy
import json
import pickle

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.traces.merge import merged
from railgauge.topo.jobs.traces.read import read_trace


def entry(record, name, into, out, *, group=("0", "default_pg"), dtype="Float", sequence=None, ms=None):
    return {
        "record_id": record,
        "pg_id": 0,
        "process_group": group,
        "collective_seq_id": record if sequence is None else sequence,
        "p2p_seq_id": 0,
        "op_id": record,
        "profiling_name": f"nccl:{name}",
        "time_created_ns": 1,
        "input_sizes": into,
        "input_dtypes": [dtype] * len(into),
        "output_sizes": out,
        "output_dtypes": [dtype] * len(out),
        "state": "completed",
        "duration_ms": ms,
        "frames": [{"name": "f", "filename": "a.py", "line": 1}],
    }


def dump(*entries):
    groups = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}
    groups["2"] = {"name": "2", "desc": "TENSOR", "ranks": [1, 3]}
    return {"version": "2.9", "pg_config": groups, "entries": copy.deepcopy(list(entries))}


ENTRIES = (
    entry(7, "all_reduce", [[8, 4]], [[8, 4]], ms=0.5),
    entry(8, "_all_gather_base", [[4, 2]], [[8, 2]], group=("2", "TENSOR"), dtype="BFloat16"),
    entry(9, "send 0->1", [[5]], [[5]], group=("2", "TENSOR")),
    entry(10, "allreduce_coalesced", [[2], [3, 3]], [[2], [3, 3]]),
    entry(11, "coalesced", [], []),
)


@pytest.fixture(params=["pickle", "json"])
def written(request, tmp_path):
    def write(record, name="nccl_trace_rank_1"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(record, 2) if request.param == "pickle" else json.dumps(record).encode())
        return str(path)

    return write


def test_entries_have_sizes_groups_and_times(written):
    trace = read_trace([written(dump(*reversed(ENTRIES)))])
    assert [
        (str(one.collective), one.bytes, one.dtype, one.group.name, one.group.ranks, one.measured_us)
        for one in trace.by_source[1]
    ] == [
        ("all_reduce", 128, "float", "0 default_pg", (0, 1, 2, 3), 500.0),
        ("all_gather", 32, "bfloat16", "2 TENSOR", (1, 3), None),
        ("sendrecv", 20, "float", "1->3", (1, 3), None),
        ("all_reduce", 44, "float", "0 default_pg", (0, 1, 2, 3), None),
    ]


def test_the_records_of_all_ranks_are_one_list_with_the_least_time(tmp_path):
    for rank, ms in enumerate((3.0, 1.0, 2.0)):
        record = dump(entry(7, "all_reduce", [[8]], [[8]], sequence=70, ms=ms))
        (tmp_path / f"trace_{rank}").write_bytes(pickle.dumps(record, 2))
    (one,) = merged(read_trace([str(tmp_path)]))
    assert one.measured_us == 1000.0


def test_a_record_of_gloo_names_no_group_and_no_type_of_a_barrier(tmp_path):
    """As PyTorch 2.13 writes it."""
    record = dump(entry(1, "all_reduce", [[16]], [[16]]), entry(2, "barrier", [], []))
    record["pg_config"] = {"": {"name": "", "desc": "", "ranks": "[0, 1]"}}
    for one in record["entries"]:
        one["profiling_name"] = one["profiling_name"].replace("nccl", "gloo")
    for rank in range(2):
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(record))
    trace = read_trace([str(tmp_path)])
    assert not trace.left_out
    assert [(one.collective, one.bytes, one.group.ranks) for one in trace.by_source[0]] == [
        ("all_reduce", 64, (0, 1)),
        ("all_reduce", 4, (0, 1)),
    ]


@pytest.mark.parametrize("damage", ["pg_config", "profiling_name", "input_sizes"])
def test_a_damaged_record_is_an_input_error(written, damage):
    record = dump(*ENTRIES)
    if damage == "pg_config":
        del record["pg_config"]
    else:
        record["entries"][0][damage] = 7 if damage == "input_sizes" else None
    with pytest.raises(InputError, match="nccl_trace_rank_1"):
        read_trace([written(record)])


@pytest.mark.parametrize("entries", [7, [7], {"a": 1}, [[]]])
def test_entries_that_are_none_are_an_input_error(written, entries):
    with pytest.raises(InputError, match="nccl_trace_rank_1"):
        read_trace([written(dump() | {"entries": entries})])


def test_nothing_in_a_pickle_is_called(tmp_path):
    class Harmful:
        def __reduce__(self):
            return (tmp_path.joinpath("mark").touch, ())

    path = tmp_path / "rank_0"
    path.write_bytes(pickle.dumps({"entries": Harmful()}, 2))
    with pytest.raises(InputError, match="rejected"):
        read_trace([str(path)])
    assert not (tmp_path / "mark").exists()
