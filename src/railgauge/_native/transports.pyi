"""connections between two ranks"""

from collections.abc import Sequence


class Doorbell:
    """Wakes one rank of this host; any peer may ring it."""

    def __init__(self) -> None: ...

    @staticmethod
    def open(descriptor: str) -> Doorbell: ...

    @property
    def descriptor(self) -> str: ...

    def abort(self) -> None:
        """Tell the owner to give up its operation."""

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

class Board:
    """Where the ranks of a host show each other data."""

    def __init__(self, place_bytes: int) -> None: ...

    @property
    def descriptor(self) -> str: ...

    def open(self, peers: list[tuple[int, int, str, Doorbell | None]]) -> None:
        """
        Map the others' boards: (rank, rank in the job, descriptor, doorbell) of all; "" and None for the own.
        """

    @property
    def bytes(self) -> int:
        """bytes that this rank has shown"""

class FaultySender(Sender):
    def __init__(self, sender: Sender, kind: str, message: int, seconds: float) -> None: ...

    def arm(self) -> None:
        """Count messages from here on."""

    @property
    def fired(self) -> bool:
        """whether the fault has come"""

class SocketProxy:
    """
    Moves the messages of a rank's sockets; made before its first operation.
    """

    def __init__(self, doorbell: Doorbell, linger_s: float) -> None: ...

    def abort(self) -> None:
        """Close all sockets at once, whatever was posted."""

    def close(self) -> None:
        """Send what was posted, unless told to abort, and close all sockets."""

class SocketReceiver(Receiver):
    def __init__(self, proxy: SocketProxy, fds: Sequence[int], threads: int, peer: int, address: str, via: str, slots: int, slot_bytes: int) -> None: ...

class SocketSender(Sender):
    def __init__(self, proxy: SocketProxy, fds: Sequence[int], threads: int, peer: int, address: str, via: str, slots: int, slot_bytes: int) -> None: ...
