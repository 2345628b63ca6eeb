# SPDX-License-Identifier: Apache-2.0
"""Comms traces of PARAM."""

import json

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.traces.read import read_trace

TRACE = [
    {"comms": "init", "pg_id": 0, "global_ranks": [0, 1, 2, 3], "world_size": 4, "req": 0},
    {"comms": "init", "pg_id": 7, "global_ranks": [1, 3], "world_size": 2, "req": 1},
    {"comms": "all_reduce", "in_msg_size": 1024, "out_msg_size": 1024, "dtype": "float32", "pg_id": 0, "req": 2},
    {"comms": "wait", "req": 2},
    {"compute": "gemm", "mm_dim": 8},
    {"comms": "broadcast", "in_msg_size": 16, "out_msg_size": 16, "dtype": "Int", "pg_id": 7, "root": 3},
    {"comms": "all_to_allv", "in_msg_size": 64, "out_msg_size": 72, "dtype": "Half", "pg_id": 0,
     "in_split": [], "out_split": [], "latency_us": 12.5, "global_latency_us": 11.5},
    {"comms": "send", "in_msg_size": 8, "out_msg_size": 8, "dtype": "Byte", "src_rank": 1, "dst_rank": 3},
]  # fmt: skip


def read(tmp_path, entries, name="comms_rank1.json"):
    path = tmp_path / name
    path.write_text(json.dumps(entries))
    return read_trace([str(path)])


def test_entries_are_operations_of_the_groups_that_init_names(tmp_path):
    trace = read(tmp_path, TRACE)
    assert [
        (str(one.collective), one.bytes, one.dtype, one.group.ranks, one.root, one.measured_us)
        for one in trace.by_source[1]
    ] == [
        ("all_reduce", 4096, "float", (0, 1, 2, 3), 0, None),
        ("broadcast", 64, "int32", (1, 3), 1, None),
        ("alltoall", 144, "half", (0, 1, 2, 3), 0, 11.5),
        ("sendrecv", 8, "uint8", (1, 3), 0, None),
    ]
    assert (trace.world, trace.kinds) == (4, {"PARAM trace"})


def test_the_default_group_has_the_ranks_of_the_world(tmp_path):
    entry = {"comms": "all_gather", "in_msg_size": 8, "out_msg_size": 64, "dtype": "float", "world_size": 8}
    (found,) = read(tmp_path, [entry]).by_source[1]
    assert (found.group.ranks, found.elements) == (tuple(range(8)), 64)
    (other,) = read(tmp_path, [{**entry, "pg_id": 3}]).by_source[1]
    assert (other.group.ranks, other.group.size) == ((), 8)


@pytest.mark.parametrize("entries", [[{"comms": "wait"}], [{"compute": "gemm"}], [{"comms": 3}], [{"other": 1}]])
def test_a_list_without_operations_is_an_input_error(tmp_path, entries):
    with pytest.raises(InputError, match="comms_rank1"):
        read(tmp_path, entries)
