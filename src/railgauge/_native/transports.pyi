"""connections between two ranks"""

from collections.abc import Sequence


def keep(object: object) -> None:
    """
    Keep an object with all that it holds until this process ends, without a word about it then.
    """

class Doorbell:
    """Wakes one rank of this host; any peer may ring it."""

    def __init__(self) -> None: ...

    @staticmethod
    def open(descriptor: str) -> Doorbell: ...

    @property
    def descriptor(self) -> str: ...

    def abort(self) -> None:
        """Make the owner give up its operation."""

    @property
    def aborted(self) -> bool: ...

class Connection:
    """One end of a one-way FIFO between two ranks."""

    @property
    def via(self) -> str: ...

    @property
    def peer(self) -> int: ...

    @property
    def bytes(self) -> int:
        """bytes that this end has moved"""

class Sender(Connection):
    pass

class Receiver(Connection):
    pass

class ShmReceiver(Receiver):
    def __init__(self, peer: int, peer_doorbell: Doorbell, slots: int, slot_bytes: int) -> None: ...

    @property
    def descriptor(self) -> str: ...

class ShmSender(Sender):
    def __init__(self, peer: int, peer_doorbell: Doorbell, descriptor: str) -> None: ...

class RegisteredMemory:
    """Memory of each rank that all ranks of the host map, for arrays."""

    def make(self, size: int) -> str:
        """
        Start the next registration, with this many bytes of this rank's; their descriptor.
        """

    def open(self, descriptors: list[str]) -> memoryview:
        """Map the others' parts of it,  for the own; this rank's memory."""

    def settle(self) -> None:
        """All ranks have opened the last registration."""

    def drop(self) -> None:
        """A rank could not make or open the last registration."""

    @property
    def unused(self) -> list[int]:
        """numbers of registrations that nobody here holds"""

    def release(self, numbers: Sequence[int]) -> None:
        """Unmap those that no rank holds."""

    def close(self) -> None:
        """Unmap all but what is held here."""

    @property
    def bytes(self) -> int:
        """of this rank's registered memory"""

    @property
    def bytes_in_huge_pages(self) -> int: ...

def memory_left() -> int:
    """How many more bytes of shared memory are available here."""

def permit_cross_memory() -> None:
    """
    Let all processes of this user read this one's memory (PR_SET_PTRACER).
    """

class SharedSegment:
    """Shared segments through which the ranks of a host exchange data."""

    def __init__(self, place_bytes: int) -> None: ...

    @property
    def descriptor(self) -> str: ...

    def open(self, peers: list[tuple[int, int, str, Doorbell | None]]) -> None:
        """
        Map the others' segments: (rank, rank in the job, descriptor, doorbell) of all; "" and None for the own.
        """

    @property
    def registered_memory(self) -> RegisteredMemory: ...

    @property
    def reads_peers(self) -> bool:
        """whether the kernel lets this rank read all others' memory"""

    def allow_cross_memory(self) -> None:
        """Note that all ranks can do that."""

    @property
    def cross_memory(self) -> bool:
        """whether all ranks can do that"""

    @property
    def bytes(self) -> int:
        """bytes that this rank has posted"""

class FaultySender(Sender):
    def __init__(self, sender: Sender, kind: str, message: int, seconds: float) -> None: ...

    def arm(self) -> None:
        """Count messages from here on."""

    @property
    def fired(self) -> bool:
        """whether the fault has occurred"""

class SocketProxy:
    """
    Moves the messages of a rank's sockets; made before its first operation.
    """

    def __init__(self, doorbell: Doorbell, linger_s: float) -> None: ...

    def abort(self) -> None:
        """Close all sockets at once, even with messages posted."""

    def close(self) -> None:
        """Send what was posted, unless aborted, and close all sockets."""

class SocketReceiver(Receiver):
    def __init__(self, proxy: SocketProxy, fds: Sequence[int], threads: int, peer: int, address: str, via: str, slots: int, slot_bytes: int) -> None: ...

class SocketSender(Sender):
    def __init__(self, proxy: SocketProxy, fds: Sequence[int], threads: int, peer: int, address: str, via: str, slots: int, slot_bytes: int) -> None: ...

class VerbsPort:
    """One port of an RDMA device."""

    @property
    def number(self) -> int: ...

    @property
    def state(self) -> int:
        """4: active (enum ibv_port_state)"""

    @property
    def link_layer(self) -> str:
        """InfiniBand, Ethernet or unspecified"""

    @property
    def lid(self) -> int: ...

    @property
    def lmc(self) -> int: ...

    @property
    def active_mtu(self) -> int:
        """bytes"""

    @property
    def active_speed(self) -> int:
        """as in IBTA's PortInfo"""

    @property
    def active_width(self) -> int:
        """as in IBTA's PortInfo"""

class VerbsDevice:
    """An RDMA device as libibverbs lists it."""

    @property
    def name(self) -> str: ...

    @property
    def node_guid(self) -> str: ...

    @property
    def ports(self) -> list[VerbsPort]: ...

    @property
    def problem(self) -> str:
        """why it cannot be opened; empty if it can"""

def verbs_devices() -> list[VerbsDevice]:
    """
    The RDMA devices, in libibverbs' order. UnavailableError without a usable library.
    """

def ib_memory_bytes(slots: int, slot_bytes: int) -> int:
    """The memory that each end of a connection registers with its devices."""

class IbRail:
    """One port of an RDMA device, opened."""

    def __init__(self, device: str, port: int, gid_index: int, *, traffic_class: int = 0, service_level: int = 0, timeout: int = 20, retry_count: int = 7, pkey_index: int = 0, relaxed_ordering: bool = False, adaptive_threshold: int = -1, modify_retries_all: bool = False, modify_retries: int = 34, modify_pause_ms: int = 100) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def gid(self) -> str: ...

class IbProxy:
    """
    Moves the messages of a rank's queue pairs; made before its first operation.
    """

    def __init__(self, doorbell: Doorbell, linger_s: float) -> None: ...

    def abort(self) -> None:
        """Give up all connections at once, even with messages posted."""

    def close(self) -> None:
        """Send what was posted, unless aborted, and end all queue pairs."""

    def register(self, address: int, bytes: int, remote_write: bool = False) -> None:
        """
        Let devices send from that memory, and with `remote_write` write to it, without a copy. Between operations; the memory has to stay until it is deregistered as often.
        """

    def deregister(self, address: int, bytes: int) -> None: ...

class IbReceiver(Receiver):
    def __init__(self, proxy: IbProxy, rails: Sequence[IbRail], peer: int, address: str, via: str, slots: int, slot_bytes: int, queue_pairs: int, split: bool) -> None: ...

    @property
    def facts(self) -> bytes:
        """what the peer's end needs for connect()"""

    def connect(self, peer_facts: bytes) -> None:
        """Bring the queue pairs up; messages can flow from then on."""

    def attributes(self) -> list[dict[str, int | str | bool]]:
        """The attributes of each queue pair, from the device (ibv_query_qp)."""

    def expose(self, address: int, bytes: int) -> bytes:
        """
        Let the sender put messages into this registered memory: the facts that its aim() takes.
        """

class IbSender(Sender):
    def __init__(self, proxy: IbProxy, rails: Sequence[IbRail], peer: int, address: str, via: str, slots: int, slot_bytes: int, queue_pairs: int, split: bool) -> None: ...

    @property
    def facts(self) -> bytes:
        """what the peer's end needs for connect()"""

    def connect(self, peer_facts: bytes) -> None:
        """Bring the queue pairs up; messages can flow from then on."""

    def attributes(self) -> list[dict[str, int | str | bool]]:
        """The attributes of each queue pair, from the device (ibv_query_qp)."""

    def aim(self, remote_facts: bytes) -> None:
        """Put messages into that memory of the receiver from now on."""

def export_gpu_memory(device: int, address: int, bytes: int) -> tuple[int, int]:
    """
    A DMA-BUF of a GPU's memory, by CUDA's number: its descriptor, which the caller closes, and the memory's offset in it. UnavailableError: there is none.
    """

class GdrAttempt:
    """A way to register a GPU's memory with a port."""

    @property
    def how(self) -> str:
        """`DMA-BUF` or `peer memory`"""

    @property
    def error(self) -> str:
        """empty: registered this way"""

class GdrTrial:
    """The result of a GPUDirect RDMA trial."""

    @property
    def registration(self) -> list[GdrAttempt]:
        """the registrations that were tried, in order"""

    @property
    def failed(self) -> str:
        """the step that failed, and why; empty: none"""

def try_gdr(rail: IbRail, bus_id: str, bytes: int, *, dma_buf: bool = True, timeout_s: float = 10.0) -> GdrTrial:
    """
    Have a port write into a GPU's memory and send from it, and verify every byte. `timeout_s`: of each transfer.
    """

def register_gpu_memory(proxy: IbProxy, device: int, address: int, bytes: int, *, remote_write: bool, dma_buf: bool = True) -> list[GdrAttempt]:
    """
    Register memory of a GPU, by CUDA's number, with the ports that the proxy uses: what was tried, the last of it with success, or with none.
    """

class GdrFlush:
    """Makes data that a port has written visible to the GPU."""

    def __init__(self, proxy: IbProxy, rails: Sequence[IbRail], address: int, bytes: int, timeout_s: float) -> None:
        """
        For memory that was registered with remote_write, and is written over those rails.
        """
