# SPDX-License-Identifier: Apache-2.0
"""Traces of PyTorch's profiler: operations, groups, steps, and the kernels' times."""

import gzip
import json

import pytest
from tests.topo.jobs.traces.made import job_of_two_steps, kineto, kineto_call, kineto_kernel, kineto_step

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.traces.read import read_trace


def read(tmp_path, text, name="trace.json"):
    path = tmp_path / name
    path.write_text(text)
    trace = read_trace([str(path)])
    return next(iter(trace.by_source.values())), trace


def test_operations_have_step_group_size_and_the_kernels_time(tmp_path):
    found, trace = read(tmp_path, job_of_two_steps(2))
    assert [(str(one.collective), one.bytes, one.group.ranks, one.step, one.measured_us) for one in found] == [
        ("all_reduce", 2 << 20, (2, 3), 5, 50.0),
        ("all_gather", 2 << 20, (0, 1, 2, 3), 5, 70.0),
        ("all_reduce", 2 << 20, (2, 3), 6, 50.0),
        ("all_gather", 2 << 20, (0, 1, 2, 3), 6, 70.0),
    ]
    assert (list(trace.by_source), trace.world, trace.kinds) == ([2], 4, {"Kineto trace"})


def test_the_clock_orders_the_events_of_a_file(tmp_path):
    late, early = kineto_call(20, "broadcast", 8, 8, (0, 1)), kineto_call(10, "allreduce", 8, 8, (0, 1))
    found, _ = read(tmp_path, kineto(0, [late, early]))
    assert [str(one.collective) for one in found] == ["all_reduce", "broadcast"]


@pytest.mark.parametrize(
    ("name", "into", "out", "collective", "elements"),
    [
        ("_allgather_base", 10, 40, "all_gather", 40),
        ("allgather_into_tensor_coalesced", 10, 40, "all_gather", 40),
        ("_reduce_scatter_base", 40, 10, "reduce_scatter", 40),
        ("reduce_scatter_tensor_coalesced", 40, 10, "reduce_scatter", 40),
        ("all_to_all", 40, 44, "alltoall", 44),
        ("all_to_allv", 40, 40, "alltoall", 40),
        ("allreduce_coalesced", 40, 40, "all_reduce", 40),
        ("broadcast", 40, 40, "broadcast", 40),
        ("reduce", 40, 40, "reduce", 40),
        ("gather", 10, 0, "gather", 40),
        ("scatter", 0, 10, "scatter", 40),
        ("barrier", 0, 0, "all_reduce", 1),
    ],
)
def test_sizes_are_those_of_nccl_tests(tmp_path, name, into, out, collective, elements):
    found, _ = read(tmp_path, kineto(0, [kineto_call(1, name, into, out, (0, 1, 2, 3), dtype="Float")]))
    assert [(str(one.collective), one.elements, one.bytes) for one in found] == [(collective, elements, 4 * elements)]


def test_messages_have_the_ranks_of_the_job(tmp_path):
    events = [
        kineto_call(1, "send", 64, 64, (1, 3), **{"Dst Rank": 3}),
        kineto_call(2, "recv", 64, 64, (1, 3), **{"Src Rank": 3}),
    ]
    found, _ = read(tmp_path, kineto(1, events))
    assert [(str(one.collective), one.group.ranks) for one in found] == [("sendrecv", (1, 3)), ("sendrecv", (3, 1))]


def test_a_shortened_list_of_ranks_is_that_of_the_group(tmp_path):
    short = kineto_call(1, "allreduce", 64, 64, (0,), **{"Process Group Ranks": "[0, 2, ..., 6]", "Group size": 4})
    group = {"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 2, 4, 6]}
    found, _ = read(tmp_path, kineto(0, [short], pg_config=[group]))
    assert found[0].group.ranks == (0, 2, 4, 6)
    by_stride = kineto_call(1, "allreduce", 64, 64, (0,), **short["args"], **{"Global rank start": 0})
    by_stride["args"]["Global rank stride"] = 2
    assert read(tmp_path, kineto(0, [by_stride]))[0][0].group.ranks == (0, 2, 4, 6)
    unknown, _ = read(tmp_path, kineto(0, [short]))
    assert (unknown[0].group.ranks, unknown[0].group.size) == ((), 4)


def test_what_moves_nothing_is_left_out_with_its_reason(tmp_path):
    events = [
        kineto_call(1, "wait", 0, 0, (0, 1)),
        kineto_call(2, "allreduce", 8, 8, (0,)),
        kineto_call(3, "allreduce", 0, 0, (0, 1)),
        kineto_call(4, "fancy", 8, 8, (0, 1)),
        kineto_call(5, "allreduce", 8, 8, (0, 1), dtype="QInt8"),
        kineto_call(6, "allreduce", -8, 8, (0, 1)),
        kineto_call(7, "allreduce", 8, 8, (0, 1)),
    ]
    found, trace = read(tmp_path, kineto(0, events))
    assert len(found) == 1
    assert trace.left_out == {
        "one rank alone": 1,
        "no data": 1,
        "unknown operation fancy": 1,
        "unknown type QInt8": 1,
        "no such size": 1,
    }


def test_kernels_alone_and_annotations_count_where_nothing_else_is_there(tmp_path):
    call = kineto_call(1, "allreduce", 64, 64, (0, 1))
    kernel = {**kineto_kernel(5, 33.0, 1), "args": call["args"]}
    assert [one.measured_us for one in read(tmp_path, kineto(0, [kernel]))[0]] == [33.0]
    assert len(read(tmp_path, kineto(0, [call, kernel]))[0]) == 1
    assert len(read(tmp_path, kineto(0, [{**call, "name": "nccl:all_reduce"}]))[0]) == 1


def test_a_packed_trace_and_a_bare_list_of_events(tmp_path):
    path = tmp_path / "rank3.pt.trace.json.gz"
    path.write_bytes(
        gzip.compress(json.dumps([kineto_step(1, 0, 9), kineto_call(1, "allreduce", 8, 8, (0, 3))]).encode())
    )
    assert list(read_trace([str(path)]).by_source) == [3]


@pytest.mark.parametrize(
    "text",
    [
        kineto(0, [kineto_step(1, 0, 10)]),
        job_of_two_steps(0)[:-40],
        '{"traceEvents": [{"ph": "X", "name": 3, "args": {"Collective name": []}}, 7, null]}',
        '{"traceEvents": ' + "[" * 100_000,
        "[]",
        "{}",
    ],
)
def test_a_trace_without_collectives_or_its_end_is_an_input_error(tmp_path, text):
    with pytest.raises(InputError, match=r"trace\.json"):
        read(tmp_path, text)


@pytest.mark.parametrize("field", ["dtype", "In msg nelems"])
def test_a_call_with_strange_values_cannot_be_billed(tmp_path, field):
    call = kineto_call(1, "allreduce", 8, 8, (0, 1))
    call["args"][field] = ["many"]
    with pytest.raises(InputError, match=r"trace\.json: no operation that can be billed: 1 left out"):
        read(tmp_path, kineto(0, [call]))


@pytest.mark.parametrize("field", ["Process Group Ranks", "Process Group Name", "Seq", "External id", "Src Rank"])
def test_strange_values_beside_a_call_are_unknown(tmp_path, field):
    call = kineto_call(1, "allreduce", 8, 8, (0, 1))
    call["args"][field] = {"a": [1e999]}
    found, _ = read(tmp_path, kineto(0, [call]))
    assert (found[0].bytes, found[0].group.size) == (16, 2)
