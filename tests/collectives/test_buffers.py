# SPDX-License-Identifier: Apache-2.0
"""What a collective takes for an array, and what it says to what it does not take."""

import array
import ctypes
import mmap
import re
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.collectives.wiring import everybody, nets
from tests.transports.ranks import on_ranks

from railgauge._native import collectives, transports
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.topo.errors import RunError, UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")


def whole(bootstrap, **others):
    return Communicator(bootstrap, everybody(bootstrap), [list(range(bootstrap.world_size))], **others)


def alone(body, ranks=1):
    """What `body(comm)` returns on a communicator of one rank, or of several that are all tried."""
    (result, *_) = on_ranks(ranks, lambda bootstrap: body(whole(bootstrap)))
    if isinstance(result, BaseException):
        raise result
    return result


def summed(make):
    """An array that `make()` gives, summed over two ranks, as this rank has it then."""
    return on_ranks(2, lambda bootstrap: whole(bootstrap).all_reduce(make()))


def mapped(values):
    memory = mmap.mmap(-1, len(values))
    memory[:] = bytes(values)
    return memory


@pytest.mark.parametrize(
    ("make", "read"),
    [
        (lambda: np.array([[1, 2], [3, 4]], np.int32), lambda a: a.reshape(-1).tolist()),
        (lambda: np.array(5.0), lambda a: [a.item()]),
        (lambda: np.arange(10, dtype=np.float16)[2:7], list),
        (lambda: np.arange(3, dtype=ml_dtypes.bfloat16), lambda a: a.astype(float).tolist()),
        (lambda: np.arange(9, dtype=ml_dtypes.bfloat16).reshape(3, 3)[1], lambda a: a.astype(float).tolist()),
        (lambda: np.arange(3).astype(ml_dtypes.float8_e4m3fn), lambda a: a.astype(float).tolist()),
        (lambda: np.arange(3).astype(ml_dtypes.float8_e5m2), lambda a: a.astype(float).tolist()),
        (lambda: array.array("d", [1.5, 2.5]), list),
        (lambda: array.array("l", [-7]), list),
        (lambda: array.array("Q", [1 << 62]), list),
        (lambda: array.array("b", [-3, 3]), list),
        (lambda: bytearray(b"\1\2"), list),
        (lambda: memoryview(bytearray(b"\1\2\3"))[1:], list),
        (lambda: memoryview(bytearray(8)).cast("f"), list),
        (lambda: mapped([1, 2, 3]), lambda a: list(a[:])),
        (lambda: (ctypes.c_float * 2)(0.5, 1.5), list),
        (lambda: np.array([1, 2], ">i4").byteswap().view("<i4"), list),
        (lambda: np.zeros((3, 0, 2), np.float32), lambda a: a.reshape(-1).tolist()),
        (lambda: np.zeros((4, 4), np.int8)[:1, :3], lambda a: a.reshape(-1).tolist()),
    ],
)
def test_everything_that_exports_its_memory_is_read_and_written_where_it_is(make, read):
    want = [2 * value for value in read(make())]
    assert [read(got) for got in summed(make)] == [want, want]


@pytest.mark.filterwarnings("ignore:ComplexHalf support:UserWarning")
def test_tensors_of_pytorch(monkeypatch):
    lib = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(__file__).parents[2] / "build/peers/torch" / lib)])
    torch = pytest.importorskip("torch", reason="torch is not there: scripts/peers torch")

    def body(bootstrap):
        comm, rank = whole(bootstrap), bootstrap.rank
        for dtype in (
            torch.float16,
            torch.bfloat16,
            torch.float32,
            torch.float64,
            torch.int8,
            torch.uint8,
            torch.int64,
        ):
            tensor = torch.arange(6).to(dtype).reshape(2, 3)
            assert comm.all_reduce(tensor) is tensor
            assert tensor.flatten().tolist() == [0, 2, 4, 6, 8, 10]
        out = torch.zeros(2, 3)
        comm.all_gather(torch.full((3,), float(rank)), out)
        assert out.tolist() == [[0.0] * 3, [1.0] * 3]
        mixed = comm.all_reduce(np.ones(2, np.float32), torch.zeros(2))
        assert mixed.tolist() == [2.0, 2.0]
        with pytest.raises(UsageError, match="not C-contiguous"):
            comm.all_reduce(torch.zeros(3, 2).T)
        with pytest.raises(UsageError, match=r"the array cannot be used: .*gradient"):
            comm.all_reduce(torch.zeros(3, requires_grad=True))
        with pytest.raises(UsageError, match=r"elements of .*complex32"):
            comm.all_reduce(torch.zeros(3, dtype=torch.complex32))
        with pytest.raises(UsageError, match=r"cannot be used: .*meta"):
            comm.all_reduce(torch.zeros(3, device="meta"))
        return True

    assert on_ranks(2, body) == [True, True]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([1.0, 2.0], "source is not an array: list exports neither the buffer protocol nor DLPack"),
        (3, "source is not an array: int"),
        ("text", "source is not an array: str"),
        (np.zeros(4, np.clongdouble), r"source has elements of complex256, which no collective supports"),
        (np.zeros(4, np.longdouble), "source has elements of "),
        (np.zeros(4, ">i2"), r"source has elements of >h"),
        (np.zeros(4, ">c8"), r"source has elements of >Zf"),
        (np.zeros(4, ">f4"), r"source has elements of >f,"),
        (np.zeros(4, "f4,i4"), "source has elements of void64"),
        (np.zeros(4, "S3"), "source has elements of bytes24"),
        (np.zeros(2, "M8[s]"), r"source cannot be used: DLPack"),
        (np.zeros(2, object), "source has elements of object"),
        (array.array("u", "a"), "source has elements of "),
        (np.zeros((4, 4), np.float32)[:, ::2], "source is not C-contiguous: copy it first"),
        (np.zeros((4, 4), np.float32).T[:, :3], "not C-contiguous"),
        (np.zeros((4, 4), ml_dtypes.bfloat16)[:, 1], "not C-contiguous"),
        (np.zeros(4, np.float32)[::-1], "not C-contiguous"),
        (np.zeros(17, np.int8)[1:].view(np.float32), "source is not aligned to its 4-byte elements"),
        (np.broadcast_to(np.float32(1), (4,)), "not C-contiguous"),
    ],
)
def test_what_is_no_usable_array_is_refused(source, message):
    def body(comm):
        with pytest.raises(UsageError, match=message):
            comm.all_reduce(source, np.zeros(4, np.float32))
        return comm.all_reduce(np.ones(1)).tolist()

    assert alone(body) == [1.0]


@pytest.mark.parametrize(
    "destination", [bytes(4), memoryview(bytearray(4)).toreadonly(), np.frombuffer(bytes(4), np.uint8)]
)
def test_what_is_read_only_is_read_but_not_written(destination):
    def body(comm):
        with pytest.raises(UsageError, match="destination is read-only"):
            comm.all_reduce(np.zeros(4, np.uint8), destination)
        with pytest.raises(UsageError, match="the array is read-only"):
            comm.all_reduce(destination)
        return comm.all_reduce(destination, bytearray(b"1234"))

    assert alone(body) == bytearray(4)


def test_what_a_rank_does_not_write_may_be_read_only():
    fixed = np.arange(4.0)
    fixed.flags.writeable = False

    def body(bootstrap):
        comm, root = whole(bootstrap), bootstrap.rank == 0
        got = comm.broadcast(fixed if root else np.zeros(4))
        comm.reduce(np.zeros(4) if root else fixed)
        return got.tolist()

    assert on_ranks(2, body) == [[0.0, 1.0, 2.0, 3.0]] * 2


def z(count, dtype=np.float32):
    return np.zeros(count, dtype)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.all_reduce(z(4), z(5)), "all_reduce over 2 ranks: source has 4 elements and destination 5"),
        (lambda c: c.all_reduce(z(4), z(0)), "source has 4 elements and destination 0"),
        (lambda c: c.all_reduce(z(4), z(4, np.int32)), "source is float, destination int32"),
        (lambda c: c.all_gather(z(4), z(7)), "source has 4 elements and destination 7, where 3 and 6 belong together"),
        (lambda c: c.all_gather(z(4), z(4)), "where 2 and 4 belong together"),
        (lambda c: c.reduce_scatter(z(7), z(4)), "where 8 and 4 belong together"),
        (lambda c: c.alltoall(z(3), z(3)), "where 2 and 2 belong together"),
        (lambda c: c.sendrecv(z(3), z(4)), "source has 3 elements and destination 4"),
        (lambda c: c.scatter(z(3), z(2), root=c.rank), "where 4 and 2 belong together"),
        (lambda c: c.gather(z(3), z(5), root=c.rank), "where 2 and 4 belong together"),
        (lambda c: c.broadcast(z(3), z(4), root=c.rank), "source has 3 elements and destination 4"),
        (lambda c: c.gather(z(3), root=c.rank), "gather: this rank needs a destination, but got None"),
        (lambda c: c.all_reduce(None, z(3)), "all_reduce: this rank needs a source"),
        (lambda c: c.all_gather(None, None), "all_gather: this rank needs a source"),
        (lambda c: c.broadcast(z(3), root=2), "root 2: ranks are 0 to 1"),
        (lambda c: c.broadcast(z(3), root=-1), "root -1: ranks are 0 to 1"),
        (
            lambda c: c.alltoallv(z(3), [1, 1], z(2), [1, 1]),
            r"send_counts must be 2 counts whose sum is .* 3 ",
        ),
        (lambda c: c.alltoallv(z(3), [1, 2], z(2), [2]), "recv_counts must be 2 counts"),
        (
            lambda c: c.alltoallv(z(4), [2, 2], z(4), [1, 3]),
            r"this rank, [01], sends itself 2 elements and expects [13]",
        ),
        (lambda c: c.alltoallv(z(3), [4, -1], z(2), [1, 1]), "send_counts"),
        (lambda c: c.alltoallv(z(3), [1 << 62, 3 - (1 << 62)], z(2), [1, 1]), "send_counts"),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused_with_what_would(call, message):
    def body(comm):
        with pytest.raises(UsageError, match=message):
            call(comm)
        return comm.all_reduce(np.ones(1)).tolist()

    assert alone(body, ranks=2) == [2.0]


def refusal(call):
    """What `call()` is refused with."""
    with pytest.raises(UsageError) as caught:
        call()
    return str(caught.value)


def overlapping(comm):
    """Calls whose arrays overlap otherwise than they may, each with its name."""
    a, rank = np.zeros(12, np.int64), comm.rank
    other = 1 - rank
    v = [3, 3]
    return {
        "all_reduce": lambda: comm.all_reduce(a[:8], a[1:9]),
        "all_gather": lambda: comm.all_gather(a[other * 4 : other * 4 + 4], a[:8]),
        "all_gather, shifted": lambda: comm.all_gather(a[rank * 4 + 1 : rank * 4 + 5], a[:8]),
        "reduce_scatter": lambda: comm.reduce_scatter(a[:8], a[other * 4 : other * 4 + 4]),
        "alltoall": lambda: comm.alltoall(a[:8], a[:8]),
        "alltoall, in part": lambda: comm.alltoall(a[:8], a[4:]),
        "alltoallv": lambda: comm.alltoallv(a[:6], v, a[:6], v),
        "sendrecv": lambda: comm.sendrecv(a, a),
        "gather": lambda: comm.gather(a[4:8], a[:8], root=rank) if rank == 0 else comm.gather(a[:4], a[:8], root=rank),
        "scatter": lambda: comm.scatter(a[:8], a[8 - 2 : 10], root=rank),
        "broadcast": lambda: comm.broadcast(a[:8], a[4:12], root=rank),
    }


def test_none_is_refused_where_the_rank_needs_an_array():
    def body(bootstrap):
        comm = Communicator(bootstrap, everybody(bootstrap), [[0, 1]])
        for call, needed in (
            (lambda: comm.scatter(z(4), None, root=1 - comm.rank), "scatter: this rank needs a destination"),
            (lambda: comm.gather(z(2), None, root=comm.rank), "gather: this rank needs a destination"),
            (lambda: comm.broadcast(None, z(2), root=comm.rank), "broadcast: this rank needs a source"),
            (lambda: comm.alltoallv(None, [1, 1], z(2), [1, 1]), "alltoallv: this rank needs a source"),
        ):
            with pytest.raises(UsageError, match=needed):
                call()
        return comm.all_reduce(np.ones(2)).tolist()

    assert on_ranks(2, body) == [[2.0, 2.0]] * 2


def test_raw_buffers_have_to_hold_what_the_count_says_and_be_aligned():
    def body(bootstrap):
        comm = Communicator(bootstrap, everybody(bootstrap), [[0, 1]])
        memory, other = memoryview(np.zeros(32, np.uint8)), memoryview(bytearray(32))
        cases = (
            (memory, 5, "shorter than count"),
            (memory[1:], 2, "alltoall: source is not aligned to its 4-byte elements"),
            (memory, 2**61, "alltoall: more elements than memory can hold"),
            (memory, 2**63, "expected a collective, a count and a Dtype"),
        )
        for buffer, count, told in cases:
            with pytest.raises(UsageError, match=told):
                comm.repeat(Collective.ALL_TO_ALL, buffer, other, count, Dtype.FLOAT)
        comm.repeat(Collective.ALL_TO_ALL, memory, other, 4, Dtype.FLOAT)

    assert on_ranks(2, body) == [None, None]


def test_arrays_that_overlap_are_refused_unless_they_are_in_place():
    def body(bootstrap):
        comm = whole(bootstrap)
        for name, call in overlapping(comm).items():
            assert "overlap" in refusal(call), name
        a = np.arange(8.0)
        comm.all_reduce(a, a)
        comm.all_reduce(a[:4], a[4:])
        return True

    assert on_ranks(2, body) == [True, True]


@pytest.mark.parametrize("only", [Algorithm.ONE_SHOT, Algorithm.TWO_SHOT, Algorithm.RING, Algorithm.TREE])
@pytest.mark.parametrize(
    "wrong",
    [
        lambda c: c.all_reduce(z(9)),
        lambda c: c.all_reduce(z(8, np.float64)),
        lambda c: c.all_reduce(z(200_000)),
        lambda c: c.broadcast(z(9), root=0),
    ],
    ids=["one more", "another type", "much more", "another collective"],
)
def test_ranks_that_do_not_agree_are_told_and_not_kept_waiting(only, wrong):
    def body(bootstrap):
        comm = whole(bootstrap, only=only)
        call = wrong if bootstrap.rank == 1 else lambda comm: comm.all_reduce(z(8))
        for _ in range(3):  # one that has what it needs notices when it goes on
            call(comm)

    got = on_ranks(3, body, timeout_s=6.0)
    assert all(isinstance(one, RunError) and re.search(r"rank \d", str(one)) for one in got), got


@pytest.mark.parametrize("transport", ["SHM", "NET/Socket"])
def test_ranks_that_do_not_agree_over_pairs_are_told(transport):
    rings = [[0, 1, 2]]

    def body(bootstrap):
        comm = Communicator(bootstrap, everybody(bootstrap), rings, nets(transport, rings), only=Algorithm.PAIRS)
        comm.alltoall(z(9 if bootstrap.rank == 1 else 6), z(9 if bootstrap.rank == 1 else 6))
        return comm.alltoallv(z(3), [1, 1, 1], z(3), [1, 1, 1])

    got = on_ranks(3, body)
    assert all(isinstance(one, RunError) for one in got), got
    told = r"ranks diverge at operation #1: .*rank 1 called alltoall of 3 float.*: counts differ"
    assert all(re.search(told, str(one)) for one in got), got


def test_boards_name_what_each_rank_is_in():
    def body(bootstrap):
        comm = whole(bootstrap)
        comm.broadcast(z(9), root=0) if bootstrap.rank else comm.all_reduce(z(8), op=Redop.MAX)

    first, second = "rank 0 called all_reduce of 8 float, max", "rank 1 called broadcast of 9 float, root 0"
    for told in on_ranks(2, body):
        assert f"ranks diverge at operation #1: {first}; {second}: collectives differ" in str(told)


@settings(deadline=None)
@given(shape=st.lists(st.integers(0, 4), min_size=1, max_size=4), data=st.data())
def test_every_view_is_taken_just_when_it_is_contiguous(shape, data):
    cut = st.builds(slice, st.integers(0, 2), st.integers(0, 4), st.sampled_from([1, 1, 2, -1]))
    view = np.zeros(shape, np.int32)[tuple(data.draw(cut) for _ in shape)]
    if view.flags.c_contiguous:
        assert looked_at(view)
    else:
        assert "not C-contiguous" in refusal(lambda: looked_at(view))


class Made:
    """A connector of a single rank, which has nobody to connect to."""

    def connect(self, _steps):
        return []


def looked_at(value):
    """Have the engine look at an array, and do nothing with it."""
    engine = collectives.Communicator.of_pairs(0, 1, transports.Doorbell(), Made(), [], timeout_s=1, crowded=False)
    return engine.prepare(0, value, value, 0, 0)


def test_what_are_no_numbers_are_usage_errors_that_name_them():
    def body(comm):
        data = np.ones(4)
        for call, words in (
            (lambda: comm.broadcast(data, root=1.0), "root 1.0"),
            (lambda: comm.broadcast(data, root="x"), "root 'x'"),
            (lambda: comm.broadcast(data, root=1 << 70), "root 11805"),
            (lambda: comm.all_reduce(data, op="sum"), "op 'sum'"),
            (lambda: comm.all_reduce(data, op="sum", async_op=True), "op 'sum'"),
            (lambda: comm.alltoallv(data, [2.0, 2.0], data.copy(), [2, 2]), "count 2.0"),
            (lambda: comm.alltoallv(data, [0.0, 4], data.copy(), [2, 2]), "count 0.0"),
            (lambda: comm.alltoallv(data, [2, 2], data.copy(), [4, None]), "count None"),
            (lambda: comm.alltoallv(data, [1 << 63, 2], data.copy(), [2, 2]), "count 9223"),
            (lambda: comm.choice("alltoallv", 4, Dtype.FLOAT), "'alltoallv'"),
            (lambda: comm.choice("all_reduce", 4, "float"), "'float'"),
        ):
            with pytest.raises(UsageError, match=words):
                call()
        comm.all_reduce(data)
        return data.tolist()

    assert on_ranks(2, lambda bootstrap: body(whole(bootstrap))) == [[2.0] * 4] * 2
