# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.gpu.streams in_turns --way push`: operations of one communicator on several streams and in graphs.

CUDA is called itself, so that GPUs are all that it takes. Each rank is a thread, and puts the same operations in the
same order; what they leave in memory has to be as on one stream.
"""

import argparse
import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from tests.gpu.on_gpu import connected
from tests.transports.ranks import on_ranks

from railgauge.collectives import gpu_communicator
from railgauge.collectives.dtype import Dtype
from railgauge.collectives.gpu_memory import SymmetricArray
from railgauge.collectives.gpu_way import KernelLaunch
from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.transports.bootstrap import Bootstrap

COUNT, ROUNDS = 1 << 18, 6
WAYS = {
    "lines": (KernelLaunch(Algorithm.ONE_SHOT, Protocol.LL), 1 << 10),
    "full_lines": (KernelLaunch(Algorithm.TWO_SHOT, Protocol.LL128), 4 << 10),
    "push": (KernelLaunch(Algorithm.TWO_SHOT, Protocol.SIMPLE), COUNT),
    "ring": (KernelLaunch(Algorithm.RING, Protocol.SIMPLE), COUNT),
    "tree": (KernelLaunch(Algorithm.TREE, Protocol.SIMPLE), COUNT),
    "registered": (KernelLaunch(Algorithm.ZERO_COPY, Protocol.SIMPLE), COUNT),
    "copies": (KernelLaunch(Algorithm.COPY_ENGINE, Protocol.SIMPLE), COUNT),
    "parts": (None, COUNT),
}
"""What an operation is run by, and the floats that each rank gives."""
LEGACY, PER_THREAD = 1, 2
"""CUDA's handles of default streams, beside 0."""
NON_BLOCKING, OF_THIS_THREAD = 1, 1
"""CU_STREAM_NON_BLOCKING, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL."""
here = threading.local()
"""`stream`: that of this thread's next operation."""


class Gpu:
    """One rank's GPU, current on its thread, by CUDA's driver API."""

    def __init__(self, device: int) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxPushCurrent_v2", context)

    def __call__(self, function: str, *arguments: object) -> None:
        result = getattr(self._cuda, function)(*arguments)
        assert result == 0, f"{function}: CUDA error {result}"

    def stream(self) -> int:
        return self._made("cuStreamCreate", NON_BLOCKING)

    def forget(self, stream: int) -> None:
        self("cuStreamDestroy_v2", ctypes.c_void_p(stream))

    def follow(self, stream: int, leader: int) -> None:
        """What is put on a stream from now on comes after what is on another."""
        event = ctypes.c_void_p(self._made("cuEventCreate", 2))
        self("cuEventRecord", event, ctypes.c_void_p(leader))
        self("cuStreamWaitEvent", ctypes.c_void_p(stream), event, 0)

    @contextlib.contextmanager
    def captured(self, stream: int) -> Iterator[list[int]]:
        """Capture a stream; the list then has the graph, to be launched."""
        graph, run = ctypes.c_void_p(), ctypes.c_void_p()
        made: list[int] = []
        self("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), OF_THIS_THREAD)
        yield made
        self("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        self("cuGraphInstantiateWithFlags", ctypes.byref(run), graph, ctypes.c_ulonglong(0))
        made.append(run.value or 0)

    def launch(self, graph: int, stream: int) -> None:
        self("cuGraphLaunch", ctypes.c_void_p(graph), ctypes.c_void_p(stream))

    def _made(self, function: str, flags: int) -> int:
        handle = ctypes.c_void_p()
        self(function, ctypes.byref(handle), flags)
        return handle.value or 0


class Rank:
    """One rank: arrays of the host in its GPU's memory, and an operation that each run of changes them."""

    def __init__(self, bootstrap: Bootstrap, way: str) -> None:
        self.comm, self.gpu, self.way = connected(bootstrap), Gpu(bootstrap.rank), way
        launch, self._count = WAYS[way]
        if launch:
            for collective in (Collective.ALL_REDUCE, Collective.ALL_GATHER):
                with contextlib.suppress(UsageError):
                    self.comm.choose(collective, [(1 << 60, launch)])
        self._arrays: list[tuple[SymmetricArray, SymmetricArray]] = []
        for _ in range(3):
            source, result = (self.comm.allocate(self._count * size, Dtype.FLOAT) for size in (1, self.comm.size))
            source.memory.write(np.full(self._count, self.comm.rank + 1, np.float32))
            result.memory.write(np.zeros(self._count * self.comm.size, np.float32))
            self._arrays.append((source, result))
        self.runs = [0] * len(self._arrays)
        part, rest = divmod(self._count, self.comm.size)
        self._parts = [part] * (self.comm.size - 1) + [part + rest]

    def put(self, number: int, stream: int) -> object:
        """Put an operation on the arrays of a number; it moves what they hold, or reduces it in place."""
        here.stream = stream
        source, result = self._arrays[number]
        size = self.comm.size
        if self.way == "copies":
            return self.comm.all_gather(source, result, async_op=True)
        if self.way == "parts":
            counts = self._parts
            own = counts[self.comm.rank]
            return self.comm.alltoallv(source, counts, Prefix(result, own * size), [own] * size, async_op=True)
        return self.comm.all_reduce(source, async_op=True)

    def ran(self, number: int) -> None:
        """An operation of a number has been put where it runs."""
        self.runs[number] += 1

    def check(self) -> None:
        """Once all is done: every array holds what so many operations leave in it."""
        size = self.comm.size
        for number, (source, result) in enumerate(self._arrays):
            if self.way in ("copies", "parts"):
                host = np.empty(self._count * size, np.float32)
                result.memory.read(host)
                part = self._count if self.way == "copies" else self._parts[self.comm.rank]
                wanted = np.repeat(np.arange(1, size + 1, dtype=np.float32), part) * bool(self.runs[number])
                host = host[: len(wanted)]
            else:
                host = np.empty(self._count, np.float32)
                source.memory.read(host)
                total = size * (size + 1) // 2
                times = total * float(size) ** (self.runs[number] - 1) if self.runs[number] else self.comm.rank + 1
                wanted = np.full(self._count, times, np.float32)
            wrong = int((host != wanted).sum())
            assert not wrong, f"array {number} after {self.runs}: {wrong} of {len(wanted)} elements are wrong"


class Prefix:
    """The first elements of an array."""

    def __init__(self, array: SymmetricArray, count: int) -> None:
        self.__cuda_array_interface__ = array.__cuda_array_interface__ | {"shape": (count,)}


def in_turns(rank: Rank, streams: list[int]) -> None:
    """Operations go round between streams, with nothing that awaits one."""
    for turn in range(ROUNDS):
        rank.put(turn % 3, streams[turn % len(streams)])
        rank.ran(turn % 3)


def two(rank: Rank) -> None:
    in_turns(rank, [rank.gpu.stream() for _ in range(2)])


def defaults(rank: Rank) -> None:
    in_turns(rank, [0, rank.gpu.stream(), PER_THREAD, LEGACY])


def gone(rank: Rank) -> None:
    """The owner of a stream destroys it while its operation is under way."""
    works = []
    for turn in range(ROUNDS):
        stream = rank.gpu.stream()
        works.append(rank.put(turn % 3, stream))
        rank.gpu.forget(stream)
        rank.ran(turn % 3)
    for work in works:
        work.wait()


def replays(rank: Rank) -> None:
    """Replays of two graphs on streams of their own, beside operations that are put on a third."""
    graphs, streams = [], [rank.gpu.stream() for _ in range(3)]
    for number in range(3):  # what is loaded at its first use cannot be while a stream is captured
        rank.put(number, streams[number])
        rank.ran(number)
    for number in range(2):
        with rank.gpu.captured(streams[number]) as made:
            work = rank.put(number, streams[number])
        graphs += made
        with pytest.raises(UsageError, match="captured into a CUDA graph"):
            work.wait()
    for turn in range(ROUNDS):
        number = turn % 3
        if number < 2:
            rank.gpu.launch(graphs[number], streams[number])
        else:
            rank.put(number, streams[number])
        rank.ran(number)


def amid_a_capture(rank: Rank) -> None:
    """Operations on another stream while one is captured, whose graph has a side stream of the caller's too."""
    main, side, other = (rank.gpu.stream() for _ in range(3))
    for number in range(3):
        rank.put(number, main)
        rank.ran(number)
    with rank.gpu.captured(main) as made:
        rank.put(0, main)
        rank.put(2, other)
        rank.ran(2)
        rank.gpu.follow(side, main)
        rank.put(1, side)
        rank.put(2, other)
        rank.ran(2)
        rank.gpu.follow(main, side)
        rank.put(0, main)
    for stream in (other, main):
        rank.gpu.launch(made[0], stream)
        rank.put(2, side)
        for number in (0, 1, 0, 2):
            rank.ran(number)


CASES: dict[str, Callable[[Rank], None]] = {one.__name__: one for one in (two, defaults, gone, replays, amid_a_capture)}


def body(bootstrap: Bootstrap, case: str, way: str) -> None:
    rank = Rank(bootstrap, way)
    CASES[case](rank)
    last = rank.gpu.stream()
    rank.put(0, last).wait()  # behind all the others
    rank.ran(0)
    rank.check()
    bootstrap.barrier()
    rank.comm.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--way", choices=WAYS, default="push")
    parser.add_argument("--ranks", type=int, default=2)
    asked = parser.parse_args()
    gpu_communicator.current_stream = lambda _array: here.stream
    for told in on_ranks(asked.ranks, lambda bootstrap: body(bootstrap, asked.case, asked.way), 30):
        if isinstance(told, BaseException):
            raise told


if __name__ == "__main__":
    main()
