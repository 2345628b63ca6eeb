"""collectives over connections"""

from collections.abc import Sequence
from typing import Annotated

from numpy.typing import NDArray

import railgauge._native.transports


class BlockedOn:
    """Which rank a rank waits for, and where."""

    @property
    def rank(self) -> int:
        """-1: nobody"""

    @property
    def frees_slot(self) -> bool:
        """whether that rank has to free a slot; else it has to send data"""

    @property
    def channel(self) -> int:
        """-1: in a shared segment"""

    @property
    def step(self) -> int:
        """steps that the operation has done there before"""

class Recorded:
    """An operation in a rank's record."""

    @property
    def number(self) -> int:
        """among the communicator's operations, from 1"""

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
        """-1: none"""

    @property
    def algorithm(self) -> int:
        """-1: a copy, for a single rank"""

    @property
    def channels(self) -> int: ...

    @property
    def began_s(self) -> float:
        """since 1970; to 10 ms for a short one"""

    @property
    def took_us(self) -> float:
        """0: ended without a wait, not timed; -1: not over"""

def place_of(array: object) -> tuple[int, int]:
    """
    The address and size in bytes of an array in host memory. UsageError for an unsupported array.
    """

class Call:
    """An operation on a caller's arrays, which are held until this is gone."""

    @property
    def in_pairs(self) -> bool:
        """whether it uses pairs"""

class Communicator:
    """One rank's connections, and operations on them."""

    def __init__(self, rank: int, ranks: int, doorbell: railgauge._native.transports.Doorbell, connector: object, hosts: Sequence[Sequence[int]], rings: Sequence[tuple[Sequence[int], Sequence[Sequence[int] | None]]], trees: Sequence[tuple[Sequence[int], Sequence[Sequence[int] | None], Sequence[Sequence[int] | None]]], cube: bool, across: bool, segments: bool, timeout_s: float, crowded: bool, stream_bytes: int) -> None:
        """
        Connect what the plan has; all ranks together. A ring is its ranks in ring order and the route of the step to each next one; a tree each rank's parent and the routes up and down. `crowded`: more ranks of this host than cores.
        """

    @staticmethod
    def of_pairs(rank: int, ranks: int, doorbell: railgauge._native.transports.Doorbell, connector: object, wires: Sequence[tuple[int, int, int, Sequence[int] | None]], timeout_s: float, crowded: bool) -> Communicator:
        """
        One with pairs alone, over these wires: channel, from rank, to rank, route.
        """

    def connect_pairs(self, connector: object) -> None:
        """Connect every rank with every other one; all ranks together."""

    @property
    def has_pairs(self) -> bool: ...

    @property
    def is_amid(self) -> bool:
        """
        whether an operation has started and not ended; after an error no rank can go on then
        """

    def choose(self, collective: int, choices: Sequence[tuple[int, int, int, int]]) -> None:
        """
        How to run a collective: (maximum bytes, algorithm, maximum channels, protocol), the last one for all larger sizes.
        """

    def zero_copy(self, collective: int, registered_from: int, cross_memory_from: int, cross_memory_below: int) -> None:
        """
        Of how many bytes a collective is run on the arrays themselves: where all it needs lies in registered memory, and where some of it does not.
        """

    def choice(self, collective: int, count: int, dtype: int) -> tuple[int, int, int]:
        """(algorithm, channels, protocol) for that many elements"""

    def prepare(self, collective: int, source: object | None, destination: object | None, op: int, root: int) -> Call:
        """Check the arrays of an operation; UsageError if they do not match."""

    def prepare_scaled(self, collective: int, source: object | None, destination: object | None, factor: float, root: int) -> Call:
        """The same for the sum of each rank's source times its own factor."""

    def prepare_all_to_all_v(self, source: object | None, to: Sequence[int], destination: object | None, from_: Sequence[int]) -> Call:
        """
        The same for an all-to-all with these numbers of elements for, and from, each rank.
        """

    def prepare_barrier(self) -> Call:
        """An operation that ends when every rank is in it."""

    def execute(self, call: Call) -> None:
        """Run a prepared operation to its end."""

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
        its last operations, the oldest first; the last one may be running; for any thread
        """

    @property
    def blocked_on(self) -> BlockedOn:
        """
        the rank that this one waits for, or waited for when it failed; for any thread
        """

def gpu_count() -> int:
    """
    The number of GPUs that this process can use; UnavailableError: no driver.
    """

def gpu_facts(device: int) -> tuple[str, str]:
    """Its bus id, as `0000:1b:00.0`, and its name."""

def gpus_reach(bus_id: str, other: str) -> bool:
    """
    Whether one can map the other's memory; False for one that this process does not see.
    """

def a_gpu_hangs() -> bool:
    """
    Whether a GPU of this process did not finish in time, and still has not.
    """

def has_gpu_kernels() -> bool: ...

def read_gpu_tensor(array: object | None) -> tuple[int, int, int, int] | None:
    """
    Address, number of elements, type and GPU of a contiguous tensor that DLPack's C exchange API reads; None: it is none.
    """

def stream_of_gpu_tensor(array: object | None) -> int | None:
    """
    The stream on which the library of such a tensor works; None: it is none.
    """

def why_not_exportable(device: int) -> str:
    """
    Why a GPU can have no memory that other processes map through descriptors; empty: it can.
    """

def why_no_nvls(device: int) -> str:
    """Why a GPU cannot add up on NVSwitches; empty: it can."""

class FabricTrial:
    """
    A little memory of a GPU, by CUDA's number, to try whether those of other hosts map it; UnavailableError: it has no such memory.
    """

    def __init__(self, device: int) -> None: ...

    @property
    def handle(self) -> bytes:
        """For the others, while this is there."""

    def why_not(self, handle: bytes) -> str:
        """Why memory of another one cannot be imported; empty: it can."""

class GpuMemory:
    """Memory of one GPU."""

    def __init__(self, device: int, size: int, handle_types: int = 0) -> None:
        """
        `handle_types`: those by which others map it (CU_MEM_HANDLE_TYPE_*, together); 0: it is cudaMalloc's.
        """

    @property
    def pointer(self) -> int: ...

    def write(self, source: Annotated[NDArray, dict(order='C', device='cpu', writable=False)]) -> None:
        """From its start on."""

    def read(self, destination: Annotated[NDArray, dict(order='C', device='cpu')]) -> None:
        """From its start on."""

    def set(self, value: int, size: int) -> None:
        """Set each of the first `size` bytes to a value."""

class GpuMark:
    """A position on a stream, as torch.cuda.Event has it."""

    def wait(self, stream: object) -> None:
        """Let a stream of PyTorch wait for it."""

    def query(self) -> bool:
        """Whether it is reached."""

class GpuEngine:
    """Collectives between GPUs, one rank's end."""

    def __init__(self, device: int, rank: int, via: Sequence[int], layout: tuple[int, int, int, int], timeout_s: float, numbers: Sequence[int] = [], handle_types: int = 0, nvls: bool = False) -> None:
        """
        `layout`: blocks, bytes of a slot, blocks of lines, full lines. `numbers`: by rank, its number in errors. `handle_types`: of memory for these are its staging buffers. `nvls`: with the kernels that add up on NVSwitches.
        """

    def lend(self) -> list[bytes]:
        """
        What each rank needs to write into its staging buffer here, by rank; one more: what those of other hosts need besides, behind theirs.
        """

    @property
    def processors(self) -> int: ...

    def connect(self, lent: Sequence[bytes], processors: Sequence[int]) -> None:
        """Both by rank."""

    @property
    def can_register(self) -> bool:
        """Whether memory can be registered: all GPUs map each other's."""

    def lend_memory(self, pointer: int, bytes: int) -> list[bytes]:
        """What each rank needs to open this GPU's memory, as in `lend`."""

    def withdraw_memory(self) -> None:
        """In place of open_memory, where a rank could not lend its memory."""

    def open_memory(self, pointer: int, bytes: int, symmetric: bool, lent: Sequence[bytes]) -> int:
        """
        Register memory, all ranks in one order; the number of the registration.
        """

    def offer_multicast(self, registration: int) -> bytes:
        """
        The first of three steps of all ranks to a multicast address of symmetric memory: what each rank needs from this one.
        """

    def join_multicast(self, registration: int, offered: Sequence[bytes]) -> None:
        """The second step."""

    def bind_multicast(self, registration: int) -> None:
        """The third, once the second has succeeded on all ranks."""

    def close_memory(self, registration: int) -> None: ...

    def slots(self, rank: int, incoming: bool) -> tuple[int, int]:
        """
        Address and bytes of the slots of what comes from a rank on another node, or leaves for it.
        """

    def move_slots(self, rank: int, incoming: bool, to_gpu: bool) -> None:
        """Move them into the GPU's memory, or back to the host's."""

    def carry(self, proxy: int, rank: int, to: Sequence[railgauge._native.transports.Sender], from_: Sequence[railgauge._native.transports.Receiver], flush: railgauge._native.transports.GdrFlush | None = None) -> None: ...

    def start(self, doorbells: Sequence[railgauge._native.transports.Doorbell]) -> None: ...

    def stop(self) -> None:
        """Stop the proxy; after the last operation of all ranks."""

    def channels(self, planned: Sequence[tuple[Sequence[int], Sequence[int]]]) -> None:
        """The ring of each channel, and by rank its parent in the tree."""

    def run(self, collective: int, source: int, destination: int, count: int, dtype: int, op: int, root: int, stream: int, way: int = -1, blocks: int = 0, chunk_bytes: int = 0) -> None: ...

    def call(self, collective: int, source: object | None, destination: object | None, op: int, root: int) -> bool:
        """
        Run it on tensors that DLPack's C exchange API reads, on their library's stream; False, and nothing was done, where they are none or do not fit.
        """

    def call_aside(self, collective: int, source: object | None, destination: object | None, op: int, root: int, aside: int) -> GpuMark:
        """
        The same on the stream `aside`, after all that is on their library's so far; None, and nothing was done, or a mark behind it.
        """

    def run_parts(self, source: int, to: Sequence[int], destination: int, from_: Sequence[int], dtype: int, stream: int) -> None: ...

    def run_scaled(self, collective: int, source: int, destination: int, count: int, dtype: int, factor: float, root: int, stream: int) -> None:
        """A sum of elements that are multiplied first."""

    def run_messages(self, messages: Sequence[tuple[bool, int, int, int, int]], stream: int) -> None:
        """
        Sends (True) and receives, all at once: each with its peer, address, bytes and tag.
        """

    def repeat(self, collective: int, source: int, destination: int, count: int, dtype: int, op: int, root: int, ahead: int, times: int, replays: int = 0, way: int = -1, blocks: int = 0, chunk_bytes: int = 0) -> float: ...

    def choose(self, collective: int, choices: Sequence[tuple[int, int, int, int]]) -> None:
        """
        By growing length: up to how many bytes, way, blocks, bytes of a chunk.
        """

    def way(self, collective: int, count: int, dtype: int, source: int = 0, destination: int = 0) -> int:
        """
        The launch that the engine chooses; without arrays, as for unregistered ones.
        """

    def can(self, collective: int, count: int, dtype: int, way: int) -> bool: ...

    def synchronize(self, stream: int) -> None: ...

    def mark(self, stream: int) -> GpuMark:
        """
        A mark after everything on a stream so far; None if the stream is captured into a graph.
        """

    def wait(self, mark: GpuMark) -> None:
        """Wait until a mark of this engine is reached."""

    @property
    def traffic(self) -> list[tuple[int, int]]:
        """By rank, the bytes sent to it and received from it."""

    def abort(self) -> None: ...

def gpu_memory_left(device: int) -> int:
    """Free bytes of a GPU's memory."""

class GpuLink:
    """The path between two GPUs of this process, timed and verified."""

    def __init__(self, low: int, high: int, room: int, peers: bool, timeout_s: float) -> None: ...

    def seconds(self, method: int, flow: int, size: int, times: int) -> float:
        """The seconds of one of `times` messages of `size` bytes."""

    def check(self, method: int, size: int, seed: int) -> tuple[tuple[int, int, float, float, float], tuple[int, int, float, float, float]]:
        """
        Send fresh bytes in both directions: the verdict on both GPUs' data, the lower's first, as in check_copied.
        """

    def abort(self) -> None:
        """End another thread's measurement."""

def memory_floor(source: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], source_bytes: int, destination: Annotated[NDArray, dict(order='C', device='cpu')], destination_bytes: int, times: int) -> float:
    """
    The seconds that this rank takes to read its input once and write its output once, the best of `times`; overwrites the destination.
    """

class Transfer:
    """A send or receive, with its array: to be kept until it is done."""

    @property
    def done(self) -> bool:
        """whether it has ended, successfully or not"""

    @property
    def source(self) -> int:
        """once a receive is done: the rank whose message it took"""

class Messages:
    """One rank's sends to and receives from the others."""

    def __init__(self, rank: int, hosts: Sequence[Sequence[int]], connector: object, doorbell: railgauge._native.transports.Doorbell, timeout_s: float, crowded: bool) -> None:
        """
        Connect every rank with every other one, those of a host over shared memory; all ranks together.
        """

    def start(self, sends: bool, array: object | None, peer: int | None, tag: int) -> Transfer:
        """
        Start a send, or a receive: from any rank without a peer. UsageError where it cannot.
        """

    def wait(self, transfer: Transfer, limit_s: float | None = None) -> bool:
        """
        Wait until it is done; False if it is not after the limit. Raises its error; without a limit WaitTimeoutError when nothing of it has moved for the timeout.
        """

    def finish_sends(self) -> None:
        """Wait until all sends are done."""

    @property
    def is_amid(self) -> bool:
        """whether a transfer was started and is not done"""

    @property
    def waited_for(self) -> tuple[bool, int, int, int, int, float] | None:
        """
        the transfer that a caller waits for, or waited for when it failed: whether it sends, its number, peer, elements, dtype, when it began (seconds since 1970); for any thread
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
        """Memory registered as nccl-tests' -R: 0, 1 or 2."""

    def repeat(self, collective: int, source: int, destination: int, count: int, dtype: int, op: int, root: int, ahead: int, times: int, replays: int = 0) -> float: ...

    def abort(self) -> None:
        """End all waits, on the GPU too; for any thread."""

class Pattern:
    """Every rank's input, and the expected reduction of all."""

    def __init__(self, ranks: int, dtype: int, op: int, seed: int, kind: int = 0) -> None: ...

def fill_pattern(pattern: Pattern, rank: int, data: Annotated[NDArray, dict(order='C', device='cpu')], count: int, first: int = 0) -> None:
    """Write elements first ... first + count - 1 of one rank's input."""

def check_reduced(pattern: Pattern, data: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], count: int, first: int = 0) -> tuple[int, int, float, float, float]:
    """
    Compare every element with the reduction over all ranks: (wrong, index of the first, expected, got, tolerance in ULP).
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
