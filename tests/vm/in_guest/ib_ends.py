# SPDX-License-Identifier: Apache-2.0
"""Two ranks of a test, each with an RDMA connection to the other and one from it; they meet over TCP."""

import contextlib
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any

from railgauge._native import collectives, transports

PORT = 18515
TIMEOUT = 16  # NCCL_IB_TIMEOUT: 0.27 s a try, an emulated network answers in a few ms
IPV4_GID = 1  # what Soft-RoCE makes of the first IPv4 address
SEND, RECEIVE, BOTH, ASK, ANSWER = range(5)  # enum Traffic of collectives/native/host_engine.h
LINGER_S = 20.0
SLOTS = 4


class Rendezvous:
    """The two ranks' TCP connection, by which they tell each other what they need."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def swap(self, told: bytes) -> bytes:
        self._sock.sendall(struct.pack("!I", len(told)) + told)
        (size,) = struct.unpack("!I", self._read(4))
        return self._read(size)

    def barrier(self) -> None:
        self.swap(b"")

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._sock.recv(size - len(data))
            if not part:
                raise EOFError("the other rank is gone")
            data += part
        return data


class Pair:
    """One rank's two connections with the other one."""

    def __init__(
        self,
        rank: int,
        rendezvous: Rendezvous,
        *,
        devices: Sequence[str],
        queue_pairs: int = 1,
        split: bool = False,
        slot_bytes: int = 64 << 10,
        **settings: Any,
    ) -> None:
        self.peer = 1 - rank
        doorbell = transports.Doorbell()
        rails = [transports.IbRail(name, 1, IPV4_GID, timeout=TIMEOUT, **settings) for name in devices]
        self.proxy = transports.IbProxy(doorbell, LINGER_S)
        end = (self.proxy, rails, self.peer, "the other guest", "NET/IB/0", SLOTS, slot_bytes, queue_pairs, split)
        self.sender, self.receiver = transports.IbSender(*end), transports.IbReceiver(*end)
        for_receiver, for_sender = rendezvous.swap(self.sender.facts), rendezvous.swap(self.receiver.facts)
        self.sender.connect(for_sender)
        self.receiver.connect(for_receiver)
        rendezvous.barrier()
        steps = [(0, 0, 1, (0, 0)), (0, 1, 0, (0, 0))]
        self._rank = rank
        self._communicator = collectives.Communicator.of_pairs(
            rank, 2, doorbell, self, steps, timeout_s=LINGER_S, crowded=False
        )

    def connect(self, steps: Sequence[tuple[int, int, int, Any]]) -> list[Any]:
        """This rank's ends of them, which are made."""
        return [self.sender if source == self._rank else self.receiver for _, source, _, _ in steps]

    def exchange(self, traffic: int, data: Any, size: int, times: int = 1, *, registered: bool = False) -> bytearray:
        """What came of the other one's data; sent from where it lies if it is registered."""
        came = bytearray(max(size, 1))
        with self.registered(data) if registered else contextlib.nullcontext():
            self.time(traffic, data, came, size, times)
        return came[:size]

    @contextlib.contextmanager
    def registered(self, data: Any) -> Iterator[None]:
        """Devices send from that memory meanwhile."""
        place = collectives.place_of(data)
        self.proxy.register(*place)
        yield
        self.proxy.deregister(*place)

    def time(self, traffic: int, data: Any, came: Any, size: int, times: int = 1) -> float:
        """The seconds of one of `times` messages, an answer included."""
        return self._communicator.time_pair(self.peer, traffic, data, came, size, 0, times)


def pattern(rank: int, size: int) -> bytearray:
    unit = bytes((7 * at + 13 * rank) % 251 for at in range(251))
    return bytearray((unit * (size // 251 + 1))[: max(size, 1)])


def meet(rank: int, address: str) -> Rendezvous:
    if rank == 0:
        with socket.create_server((address, PORT)) as listener:
            return Rendezvous(listener.accept()[0])
    while True:
        try:
            return Rendezvous(socket.create_connection((address, PORT)))
        except OSError:
            time.sleep(0.2)
