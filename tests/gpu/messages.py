# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.gpu.messages group --ranks 3`: sends and receives between GPUs, a thread for each rank."""

import contextlib
import time
from collections.abc import Callable

import numpy as np
import pytest
from tests.gpu.cases import run_case
from tests.gpu.on_gpu import GpuArray, connected

from railgauge._native import collectives as native
from railgauge.collectives import gpu_point_to_point
from railgauge.collectives.gpu_communicator import GpuCommunicator
from railgauge.topo.errors import RunError, UsageError
from railgauge.transports.bootstrap import Bootstrap

BLOCKS, LONG = 2, 400_013
"""So many parts, and bytes that the staging buffers of three ranks do not hold: four slots of 40 KiB for a part."""

MORE_THAN_A_STREAM_HOLDS = 1200
"""Of a simulated GPU: tests/gpu/fake_cuda/stream.cc."""
MARKED: list[native.GpuMark] = []
"""By rank 1 of `full_stream`."""


class Rank:
    """One rank, and arrays of bytes in the memory of its GPU."""

    def __init__(self, comm: GpuCommunicator) -> None:
        self.comm = comm
        self.next, self.previous = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        self._memory: list[native.GpuMemory] = []

    def array(self, count: int, *, at: int = 0, dtype: str = "uint8", value: int | None = None) -> GpuArray:
        """So many elements from byte `at` of memory on; `value`: of each byte, drawn by it, else zero."""
        like = np.zeros(count, dtype)
        memory = native.GpuMemory(self.comm.device, at + like.nbytes + 1)
        memory.write(np.concatenate([np.zeros(at, np.uint8), drawn(like.nbytes, value), np.zeros(1, np.uint8)]))
        self._memory.append(memory)
        made = GpuArray(memory.pointer + at, like)
        made.read = lambda: self._read(memory, at, like.nbytes)
        return made

    def _read(self, memory: native.GpuMemory, at: int, size: int) -> np.ndarray:
        self.comm.synchronize()
        memory.read(found := np.zeros(at + size, np.uint8))
        return found[at:]


def drawn(size: int, value: int | None) -> np.ndarray:
    if value is None:
        return np.zeros(size, np.uint8)
    return np.random.default_rng(value).integers(0, 256, size, np.uint8)


def holds(array: GpuArray, value: int) -> bool:
    return bool((array.read() == drawn(array.dtype.itemsize * array.__cuda_array_interface__["shape"][0], value)).all())


def alone(rank: Rank) -> None:
    """One after another along the ranks, of every alignment and of lengths about those of parts and chunks."""
    comm = rank.comm
    for number, count in enumerate((0, 1, 4, 1000, 8 << 10, (8 << 10) + 1, 100_000, LONG)):
        for at in (0, 1, 4) if count < LONG else (0,):
            array = rank.array(count, at=at, value=number if comm.rank == 0 else None)
            if comm.rank > 0:
                comm.recv(array, comm.rank - 1)
            if comm.rank + 1 < comm.size:
                comm.send(array, comm.rank + 1)
            assert holds(array, number), (count, at)


def group(rank: Rank) -> None:
    """Every rank sends to the next before it receives, more than fits between."""
    comm = rank.comm
    source, into = rank.array(LONG, value=comm.rank), rank.array(LONG)
    works = []
    with comm.group():
        works.append(comm.isend(source, rank.next))
        works.append(comm.irecv(into, rank.previous))
        with pytest.raises(UsageError, match="has not ended"):
            works[0].wait()
    assert works[1].wait() is into
    assert holds(into, rank.previous)


def several(rank: Rank) -> None:
    """Messages of several lengths to one peer, to itself too, beside collectives on the same staging buffers."""
    comm = rank.comm
    counts = [5, LONG, 0, 70_000, 1]
    for peer, source in ((rank.next, rank.previous), (comm.rank, comm.rank)):
        out = [rank.array(count, value=10 * comm.rank + i) for i, count in enumerate(counts)]
        into = [rank.array(count) for count in counts]
        with comm.group():
            for array in out:
                comm.send(array, peer)
            with comm.group():
                for array in into:
                    comm.recv(array, source)
        total = rank.array(1 << 13, dtype="uint32", value=3)
        comm.all_reduce(total)
        assert all(holds(array, 10 * source + i) for i, array in enumerate(into))
        assert (total.read().view(np.uint32) == comm.size * drawn(4 << 13, 3).view(np.uint32)).all()


def unlike_groups(rank: Rank) -> None:
    """Rank 0 has in one group what rank 1 does step by step, which answers after more messages than there are slots."""
    comm = rank.comm
    asked = [rank.array(8 << 10, value=i if comm.rank == 0 else None) for i in range(6)]
    answer = rank.array(8 << 10, value=9 if comm.rank == 1 else None)
    if comm.rank == 0:
        with comm.group():
            comm.recv(answer, 1)
            for array in asked:
                comm.send(array, 1)
    elif comm.rank == 1:
        for array in asked:
            comm.recv(array, 0)
        comm.send(answer, 0)
    if comm.rank < 2:
        assert holds(answer, 9)
        assert all(holds(array, i) for i, array in enumerate(asked))


def tags(rank: Rank) -> None:
    """A group receives by tags what one group, or one after another, sent in another order; those of a tag in order."""
    comm = rank.comm
    sent = [(7, 70_000), (2**32 - 1, 100), (0, LONG), (7, 100), (0, 9), (7, LONG)]
    out = [rank.array(count, value=10 * comm.rank + i) for i, (_, count) in enumerate(sent)]
    received = sorted(range(len(sent)), key=lambda i: (sent[i][0], i))
    for peer, source in ((rank.next, rank.previous), (comm.rank, comm.rank)):
        into = [rank.array(count) for _, count in sent]
        with comm.group():
            for array, (tag, _) in zip(out, sent, strict=True):
                comm.send(array, peer, tag)
            for i in received:
                comm.recv(into[i], source, sent[i][0])
        assert all(holds(array, 10 * source + i) for i, array in enumerate(into))
    out = [rank.array(8000 + i, value=i) for i in range(len(sent))]  # a part each: simulated blocks run in turn
    into = [rank.array(8000 + i) for i in range(len(sent))]
    if comm.rank == 0:
        for array, (tag, _) in zip(out, sent, strict=True):
            comm.isend(array, 1, tag)
    elif comm.rank == 1:
        with comm.group():
            works = [comm.irecv(into[i], 0, sent[i][0]) for i in received]
        works[0].wait()
        assert all(holds(array, i) for i, array in enumerate(into))


def untaken(rank: Rank) -> None:
    """Rank 1 receives another tag than rank 0 sends: never data of one in the other's place. In a part, where they have
    other numbers, they are named by those of the run.
    """
    if rank.comm.rank >= 2:
        return
    part = rank.comm.subset([1, 0])
    if part.rank == 1:
        part.send(rank.array(100, value=1), 0, 3)
        return
    part.recv(array := rank.array(100), 1, 5)
    with pytest.raises(RunError, match="rank 0 sent a message with tag 3, which rank 1 does not receive next"):
        part.synchronize()
    with pytest.raises(RunError):
        part.recv(array, 1, 3)


def wrong(rank: Rank) -> None:
    """What is refused puts nothing on the stream; nor does a group that an exception leaves."""
    comm = rank.comm
    array = rank.array(8, value=comm.rank)
    refused = {
        "ranks are 0 to": lambda: comm.send(array, comm.size),
        "-1: ranks": lambda: comm.recv(array, -1),
        "recv: .* a rank that is named": lambda: comm.recv(array, None),
        "rank 0, tag 'a': expected whole numbers": lambda: comm.recv(array, 0, "a"),
        "rank 0.5, tag 0: expected whole numbers": lambda: comm.recv(array, 0.5),
        "tag -1: expected 0 to 4294967295": lambda: comm.isend(array, 0, -1),
        "tag 4294967296: expected 0 to": lambda: comm.irecv(array, 0, 2**32),
        "one group": lambda: comm.send(array, comm.rank),
        "not an array": lambda: comm.send(np.zeros(3), 0),
    }
    for words, call in refused.items():
        with pytest.raises(UsageError, match=words):
            call()
    with pytest.raises(UsageError, match="8 bytes, its receive 9"):
        both(comm, array, rank.array(9), comm.rank)
    with pytest.raises(UsageError, match="with one tag"):
        both(comm, array, array, comm.rank, tags=(1, 2))
    with contextlib.suppress(ZeroDivisionError), comm.group():
        comm.send(array, rank.next)
        raise ZeroDivisionError
    group(rank)


def unequal(rank: Rank) -> None:
    """Rank 0 sends less than rank 1 receives."""
    comm = rank.comm
    if comm.rank == 0:
        comm.send(rank.array(100, value=1), 1)
    elif comm.rank == 1:
        comm.recv(rank.array(101), 0)
        with pytest.raises(RunError, match="rank 0 sent a message of another length than rank 1 receives"):
            comm.synchronize()


def all_to_all(rank: Rank) -> None:
    """Every rank to every other, several times."""
    comm = rank.comm
    for turn in range(2):
        out = [rank.array(3000 * peer + turn, value=100 * comm.rank + peer) for peer in range(comm.size)]
        into = [rank.array(3000 * comm.rank + turn) for _ in range(comm.size)]
        with comm.group():
            for peer in range(comm.size):
                comm.send(out[peer], peer)
                comm.recv(into[peer], peer)
        for peer in range(comm.size):
            assert holds(into[peer], 100 * peer + comm.rank)
    sent = {end.peer: end.sent for end in comm.ends}
    assert sent == {peer: 6000 * peer + 1 for peer in range(comm.size) if peer != comm.rank}


def many(rank: Rank) -> None:
    """More messages than a kernel takes."""
    comm = rank.comm
    out = [rank.array(1000, value=1000 * comm.rank + i) for i in range(150)]
    into = [rank.array(1000) for _ in out]
    with comm.group():
        for array in out:
            comm.send(array, rank.next)
        for array in into:
            comm.recv(array, rank.previous)
    assert all(holds(array, 1000 * rank.previous + i) for i, array in enumerate(into))


def streams(rank: Rank) -> None:
    """A group has one stream."""
    gpu_point_to_point.current_stream = id  # of the array: the ranks are threads, and share it
    with pytest.raises(UsageError, match="several streams"):
        both(rank.comm, rank.array(8), rank.array(8), rank.next)


def full_stream(rank: Rank) -> None:
    """Rank 1 waits for room on its stream, behind a receive: rank 0, a thread of the same process, sends meanwhile."""
    comm = rank.comm
    array = rank.array(8, value=1 if comm.rank == 0 else None)
    if comm.rank == 1:
        comm.recv(array, 0)
        for _ in range(MORE_THAN_A_STREAM_HOLDS):
            MARKED.append(comm._engine.mark(0))
        assert holds(array, 1)
    elif comm.rank == 0:
        while len(MARKED) < MORE_THAN_A_STREAM_HOLDS // 2:
            time.sleep(0.01)
        time.sleep(0.3)  # until it is full: nothing tells
        comm.send(array, 1)


def both(
    comm: GpuCommunicator, source: GpuArray, destination: GpuArray, peer: int, tags: tuple[int, int] = (0, 0)
) -> None:
    with comm.group():
        comm.send(source, peer, tags[0])
        comm.recv(destination, peer, tags[1])


CASES: dict[str, Callable[[Rank], None]] = {
    one.__name__: one
    for one in (
        alone,
        group,
        several,
        unlike_groups,
        tags,
        untaken,
        wrong,
        unequal,
        all_to_all,
        many,
        streams,
        full_stream,
    )
}


def body(bootstrap: Bootstrap, case: str, hosts: int) -> None:
    comm = connected(bootstrap, hosts, max_ctas=BLOCKS)
    CASES[case](Rank(comm))
    with contextlib.suppress(RunError):  # `unequal` or `untaken` has ended the run
        bootstrap.barrier()
    comm.close()


if __name__ == "__main__":
    run_case(CASES, body, ranks=3)
