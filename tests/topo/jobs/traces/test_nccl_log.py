# SPDX-License-Identifier: Apache-2.0
"""NCCL logs with the lines of COLL and INIT."""

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.traces.merge import merged
from railgauge.topo.jobs.traces.read import read_trace


def init(rank, size, pointer, comm="0xc0ffee", host="n", device=None):
    gpu = rank if device is None else device
    where = f"{host}:{100 + gpu}:{100 + gpu} [{gpu}] NCCL INFO ncclCommInitRank comm {pointer}"
    return (
        f"{where} rank {rank} nranks {size} cudaDev {gpu} nvmlDev {gpu} busId {gpu}000 commId {comm} - Init COMPLETE\n"
    )


def call(gpu, name, number, count, dtype, pointer, *, op=0, root=0, host="n", size=4):
    text = f"{name}: opCount {number:x} sendbuff 0x1 recvbuff 0x2 count {count} datatype {dtype} op {op} root {root}"
    return f"{host}:{100 + gpu}:{100 + gpu} [{gpu}] NCCL INFO {text} comm {pointer} [nranks={size}] stream 0x5\n"


def read(tmp_path, *lines):
    path = tmp_path / "nccl.log"
    path.write_text("training\n" + "".join(lines))
    return read_trace([str(path)])


def world(size=4):
    return [init(rank, size, f"0xa{rank}") for rank in range(size)]


@pytest.mark.parametrize(
    ("name", "dtype", "op", "expected"),
    [
        ("AllReduce", 7, 2, ("all_reduce", 400, "float", "max")),
        ("AllGather", 9, 0, ("all_gather", 800, "bfloat16", "sum")),
        ("ReduceScatter", 6, 4, ("reduce_scatter", 800, "half", "avg")),
        ("Broadcast", 0, 0, ("broadcast", 100, "int8", "sum")),
        ("Reduce", 8, 3, ("reduce", 800, "double", "min")),
        ("AlltoAll", 2, 0, ("alltoall", 1600, "int32", "sum")),
    ],
)
def test_counts_types_and_operators_are_those_of_nccl(tmp_path, name, dtype, op, expected):
    trace = read(tmp_path, *world(), *(call(gpu, name, 0, 100, dtype, f"0xa{gpu}", op=op) for gpu in range(4)))
    assert list(trace.by_source) == [0, 1, 2, 3]
    (one,) = merged(trace)
    assert (str(one.collective), one.bytes, one.dtype, one.redop) == expected
    assert one.group.ranks == (0, 1, 2, 3)


def test_ranks_of_a_smaller_communicator_are_found_by_its_gpus(tmp_path):
    smaller = [init(0, 2, "0xb1", "0xbeef", device=1), init(1, 2, "0xb3", "0xbeef", device=3)]
    trace = read(tmp_path, *world(), *smaller, call(3, "AllReduce", 0, 8, 7, "0xb3", size=2))
    (one,) = trace.by_source[3]
    assert one.group.ranks == (1, 3)


def test_a_group_of_sends_and_receives_is_an_all_to_all(tmp_path):
    sides = [call(1, way, 4, 10, 7, "0xa1", root=peer) for peer in range(4) for way in ("Send", "Recv")]
    later = [call(1, "AllReduce", 5, 10, 7, "0xa1")]
    trace = read(tmp_path, *world(), *sides, *later)
    assert [(str(one.collective), one.elements) for one in trace.by_source[1]] == [("alltoall", 40), ("all_reduce", 10)]


def test_to_the_next_and_from_the_previous_rank_is_a_send_receive(tmp_path):
    trace = read(
        tmp_path, *world(), call(1, "Send", 0, 10, 7, "0xa1", root=2), call(1, "Recv", 0, 10, 7, "0xa1", root=0)
    )
    assert [(str(one.collective), one.group.size) for one in trace.by_source[1]] == [("sendrecv", 4)]


def test_other_messages_are_between_two_ranks_and_count_once(tmp_path):
    trace = read(
        tmp_path,
        *world(),
        call(1, "Send", 0, 10, 7, "0xa1", root=3),
        call(3, "Recv", 0, 10, 7, "0xa3", root=1),
    )
    assert [one.group.ranks for one in merged(trace)] == [(1, 3)]


def test_the_start_of_the_communicator_is_needed_where_the_line_has_no_size(tmp_path):
    old = call(0, "AllReduce", 0, 8, 7, "0xdd").replace(" [nranks=4]", "")
    with pytest.raises(InputError, match="no start of the communicator"):
        read(tmp_path, old)
    (one,) = merged(read(tmp_path, call(0, "AllReduce", 0, 8, 7, "0xdd"), call(1, "AllReduce", 0, 8, 7, "0xee")))
    assert (one.group.size, one.group.ranks) == (4, ())


def test_a_host_that_another_line_runs_into_is_still_itself(tmp_path):
    glued = "-1" + call(2, "AllReduce", 0, 8, 7, "0xa2")
    assert list(read(tmp_path, *world(), glued).by_source) == [2]
