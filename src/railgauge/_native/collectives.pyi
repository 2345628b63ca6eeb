"""collectives over connections"""

from collections.abc import Sequence
from typing import Annotated

from numpy.typing import NDArray

import railgauge._native.transports


class BlockedOn:
    """Whom a rank waits for, and where."""

    @property
    def rank(self) -> int:
        """-1: nobody"""

    @property
    def frees_slot(self) -> bool:
        """whether that rank has to free a slot; else send data"""

    @property
    def channel(self) -> int:
        """-1: on boards"""

    @property
    def step(self) -> int:
        """moves that the operation has made there before"""

class Recorded:
    """An operation in a rank's record."""

    @property
    def number(self) -> int:
        """of the communicator's operations, from 1"""

    @property
    def collective(self) -> int: ...

    @property
    def count(self) -> int: ...

    @property
    def dtype(self) -> int: ...

    @property
    def op(self) -> int:
        """-1: it reduces nothing"""

    @property
    def root(self) -> int:
        """-1: it has none"""

    @property
    def algorithm(self) -> int:
        """-1: a copy, of a rank that is alone"""

    @property
    def channels(self) -> int: ...

    @property
    def began_s(self) -> float:
        """since 1970; of a short one to 10 ms"""

    @property
    def took_us(self) -> float:
        """0: over without a wait, not timed; -1: not over"""

def place_of(array: object) -> tuple[int, int]:
    """
    The address and the bytes of an array in host memory. UsageError for what operations do not take.
    """

class Call:
    """An operation on a caller's arrays, which are held until this is gone."""

    @property
    def in_pairs(self) -> bool:
        """whether it goes over pairs"""

class RingChannel:
    """A ring as one rank sees it."""

    def __init__(self, position: int, order: Sequence[int], next: railgauge._native.transports.Sender | None, previous: railgauge._native.transports.Receiver | None) -> None: ...

class TreeEdge:
    """Both connections with a neighbour in a tree."""

    def __init__(self, to: railgauge._native.transports.Sender | None = None, from_: railgauge._native.transports.Receiver | None = None) -> None: ...

class TreeChannel:
    """A tree as one rank sees it."""

    def __init__(self, parent: TreeEdge, children: Sequence[TreeEdge]) -> None: ...

class Pair:
    """Both connections with another rank, for point to point."""

    def __init__(self, to: railgauge._native.transports.Sender | None = None, from_: railgauge._native.transports.Receiver | None = None) -> None: ...

class Cube:
    """Ranks joined as a hypercube, as one of them sees it."""

    def __init__(self, order: Sequence[int], position: int, peers: Sequence[Pair]) -> None: ...

def cube_neighbours(position: int, size: int) -> list[int]:
    """The positions that one is joined with in a hypercube."""

class Communicator:
    """One rank's connections, and operations on them."""

    def __init__(self, rank: int, ranks: int, doorbell: railgauge._native.transports.Doorbell, rings: Sequence[RingChannel], trees: Sequence[TreeChannel], board: railgauge._native.transports.Board | None, hosts: Sequence[Sequence[int]], cube: Cube | None, across: Cube | None, timeout_s: float, spin_s: float, stream_bytes: int) -> None: ...

    def connect_pairs(self, pairs: Sequence[Pair]) -> None: ...

    @property
    def has_pairs(self) -> bool: ...

    @property
    def is_amid(self) -> bool:
        """
        whether an operation has begun that has not come to its end; after an error no rank can go on then
        """

    def choose(self, collective: int, choices: Sequence[tuple[int, int, int, int]]) -> None:
        """
        How to run a collective: (up to so many bytes, algorithm, most channels, protocol), the last one for all above.
        """

    def zero_copy(self, collective: int, windows_from: int, cross_memory_from: int, cross_memory_below: int) -> None:
        """
        Of how many bytes a collective is run on the arrays themselves: where all it needs lies in windows, and where some of it does not.
        """

    def choice(self, collective: int, count: int, dtype: int) -> tuple[int, int, int]:
        """(algorithm, channels, protocol) for so many elements"""

    def prepare(self, collective: int, source: object | None, destination: object | None, op: int, root: int) -> Call:
        """
        Look at the arrays of an operation; UsageError where they do not belong together.
        """

    def prepare_all_to_all_v(self, source: object | None, to: Sequence[int], destination: object | None, from_: Sequence[int]) -> Call:
        """
        The same for an all-to-all with so many elements for, and from, each rank.
        """

    def prepare_barrier(self) -> Call:
        """What ends when every rank is in it."""

    def execute(self, call: Call) -> None:
        """Run what was prepared to its end."""

    def call(self, collective: int, source: object | None, destination: object | None, op: int, root: int) -> bool:
        """
        Prepare and execute; False, and nothing was run, where it needs pairs and there are none.
        """

    def run(self, collective: int, source: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], destination: Annotated[NDArray, dict(order='C', device='cpu')], count: int, dtype: int, op: int, root: int, ahead: int = 0, times: int = 1) -> float:
        """
        Run it `ahead` times, then `times` times; return the seconds that one of the latter took.
        """

    def time_pair(self, peer: int, traffic: int, source: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], destination: Annotated[NDArray, dict(order='C', device='cpu')], bytes: int, ahead: int = 0, times: int = 1) -> float:
        """
        Exchange messages with one rank, `ahead` and then `times`; return the seconds that one of the latter took.
        """

    @property
    def operations(self) -> list[Recorded]:
        """
        its last operations, the oldest first; this rank may be in the last one; for any thread
        """

    @property
    def blocked_on(self) -> BlockedOn:
        """whom this rank waits for, or waited for when it failed; for any thread"""

def gpu_count() -> int:
    """GPUs that this process may use; UnavailableError: no driver."""

def gpu_facts(device: int) -> tuple[str, str]:
    """Its bus id, as `0000:1b:00.0`, and its name."""

def gpus_reach(bus_id: str, other: str) -> bool:
    """
    Whether one maps the memory of the other; False for one that this process does not see.
    """

def a_gpu_hangs() -> bool:
    """Whether one of this process was not done in time, and still is not."""

def has_gpu_kernels() -> bool: ...

class GpuMemory:
    """Memory of one GPU."""

    def __init__(self, device: int, size: int) -> None: ...

    @property
    def pointer(self) -> int: ...

    def write(self, source: Annotated[NDArray, dict(order='C', device='cpu', writable=False)]) -> None:
        """From the beginning on."""

    def read(self, destination: Annotated[NDArray, dict(order='C', device='cpu')]) -> None:
        """From the beginning on."""

    def set(self, value: int, size: int) -> None:
        """The first `size` bytes, each to a value."""

class GpuMark:
    """A place in what is put on a stream."""

class GpuEngine:
    """Collectives between GPUs, one rank's end."""

    def __init__(self, device: int, rank: int, via: Sequence[int], layout: tuple[int, int, int, int], timeout_s: float) -> None:
        """`layout`: blocks, bytes of a slot, blocks of lines, full lines."""

    def lent(self, rank: int) -> bytes: ...

    @property
    def processors(self) -> int: ...

    def connect(self, lent: Sequence[bytes], processors: Sequence[int]) -> None:
        """Both by rank."""

    @property
    def has_windows(self) -> bool:
        """Whether memory can be registered: all GPUs map each other's."""

    def lend_window(self, rank: int, pointer: int) -> bytes:
        """What a rank needs to open memory of this GPU from there on."""

    def open_window(self, pointer: int, bytes: int, symmetric: bool, lent: Sequence[bytes]) -> int:
        """Register memory, all ranks in one order; the number of the window."""

    def close_window(self, window: int) -> None: ...

    def slots(self, rank: int, incoming: bool) -> tuple[int, int]:
        """
        Address and bytes of the slots of what comes from a rank on another node, or leaves for it.
        """

    def move_slots(self, rank: int, incoming: bool, to_gpu: bool) -> None:
        """Into the memory of the GPU, or back to the host's."""

    def carry(self, lane: int, rank: int, to: Sequence[railgauge._native.transports.Sender], from_: Sequence[railgauge._native.transports.Receiver], flush: railgauge._native.transports.GdrFlush | None = None) -> None: ...

    def start(self, doorbells: Sequence[railgauge._native.transports.Doorbell]) -> None: ...

    def stop(self) -> None:
        """Carry nothing any more; after the last operation of all ranks."""

    def channels(self, planned: Sequence[tuple[Sequence[int], Sequence[int]]]) -> None:
        """Of each channel the ring, and by rank its parent in the tree."""

    def run(self, collective: int, source: int, destination: int, count: int, dtype: int, op: int, root: int, stream: int, way: int = -1, blocks: int = 0, chunk_bytes: int = 0) -> None: ...

    def run_parts(self, source: int, to: Sequence[int], destination: int, from_: Sequence[int], dtype: int, stream: int) -> None: ...

    def repeat(self, collective: int, source: int, destination: int, count: int, dtype: int, op: int, root: int, ahead: int, times: int, replays: int = 0, way: int = -1, blocks: int = 0, chunk_bytes: int = 0) -> float: ...

    def choose(self, collective: int, choices: Sequence[tuple[int, int, int, int]]) -> None:
        """
        By growing length: up to how many bytes, way, blocks, bytes of a chunk.
        """

    def way(self, collective: int, count: int, dtype: int, source: int = 0, destination: int = 0) -> int:
        """
        The way that is due; of arrays that are not given, as of unregistered ones.
        """

    def can(self, collective: int, count: int, dtype: int, way: int) -> bool: ...

    def synchronize(self, stream: int) -> None: ...

    def mark(self, stream: int) -> GpuMark:
        """
        A mark behind all that is on a stream by now; None where that is captured into a graph.
        """

    def wait(self, mark: GpuMark) -> None:
        """Wait until a mark of this engine has come."""

    @property
    def traffic(self) -> list[tuple[int, int]]:
        """By rank, the bytes sent to it and received from it."""

    def check(self) -> None: ...

    def abort(self) -> None: ...

def gpu_memory_left(device: int) -> int:
    """Bytes that can be taken of a GPU's memory."""

class GpuLink:
    """The way between two GPUs of this process, timed and checked."""

    def __init__(self, low: int, high: int, room: int, peers: bool, timeout_s: float) -> None: ...

    def seconds(self, mover: int, flow: int, size: int, times: int) -> float:
        """What one of `times` messages of `size` bytes takes."""

    def check(self, mover: int, size: int, seed: int) -> tuple[tuple[int, int, float, float, float], tuple[int, int, float, float, float]]:
        """
        Send fresh bytes both ways: what the lower GPU got, and the higher one, as in check_copied.
        """

    def abort(self) -> None:
        """End what another thread measures."""

def memory_floor(source: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], source_bytes: int, destination: Annotated[NDArray, dict(order='C', device='cpu')], destination_bytes: int, times: int) -> float:
    """
    The seconds that this rank takes to read its input once and write its output once, the best of `times`; overwrites the destination.
    """

class NcclLibrary:
    """NVIDIA's libnccl, opened at run time."""

    def __init__(self, path: str) -> None: ...

    @property
    def version(self) -> str:
        """as 2.28.9"""

    @property
    def version_code(self) -> int:
        """as 22809"""

    def unique_id(self) -> bytes:
        """An id for the ranks of one communicator."""

class NcclCommunicator:
    """One rank's communicator of NCCL."""

    def __init__(self, library: NcclLibrary, device: int, rank: int, ranks: int, timeout_s: float) -> None: ...

    def connect(self, id: bytes) -> None: ...

    def allocate(self, size: int, registration: int) -> GpuMemory:
        """Memory registered as nccl-tests' -R says: 0, 1 or 2."""

    def repeat(self, collective: int, source: int, destination: int, count: int, dtype: int, op: int, root: int, ahead: int, times: int, replays: int = 0) -> float: ...

    def abort(self) -> None:
        """End all waiting, on the GPU too; for any thread."""

class Pattern:
    """What every rank's input is, and what a reduction of all has to give."""

    def __init__(self, ranks: int, dtype: int, op: int, seed: int, kind: int = 0) -> None: ...

def fill_pattern(pattern: Pattern, rank: int, data: Annotated[NDArray, dict(order='C', device='cpu')], count: int, first: int = 0) -> None:
    """Write elements first ... first + count - 1 of one rank's input."""

def check_reduced(pattern: Pattern, data: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], count: int, first: int = 0) -> tuple[int, int, float, float, float]:
    """
    Compare every element with the reduction over all ranks: (wrong, index of the first, expected, got, how many ULP it may be off).
    """

def check_copied(pattern: Pattern, rank: int, data: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], count: int, first: int = 0) -> tuple[int, int, float, float, float]:
    """
    Compare every element with what fill_pattern writes; the result is as check_reduced's.
    """

class GpuPatterns:
    """The same for data in the memory of one GPU."""

    def __init__(self, device: int, timeout_s: float) -> None: ...

    def fill(self, pattern: Pattern, rank: int, data: int, count: int, first: int = 0) -> None: ...

    def check_reduced(self, pattern: Pattern, data: int, count: int, first: int = 0) -> tuple[int, int, float, float, float]: ...

    def check_copied(self, pattern: Pattern, rank: int, data: int, count: int, first: int = 0) -> tuple[int, int, float, float, float]: ...

def combine(out: Annotated[NDArray, dict(order='C', device='cpu')], inputs: Sequence[Annotated[NDArray, dict(order='C', device='cpu', writable=False)]], dtype: int, op: int, divisor: int = 0, stream: bool = False) -> None:
    """
    out = inputs[0] op inputs[1] op ..., element by element, divided by `divisor` unless that is 0: the kernel that reductions run.
    """
