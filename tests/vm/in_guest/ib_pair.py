# SPDX-License-Identifier: Apache-2.0
"""Two ranks, one RDMA connection each way, again and again: prints a JSON object of what came of each scenario.

ib_pair.py RANK ADDRESS: rank 0 listens there, rank 1 calls. ib_pair.py both: two processes of one guest.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import time

from railgauge._native import collectives, transports
from railgauge.topo.errors import Error

PORT = 18515
TIMEOUT = 16  # NCCL_IB_TIMEOUT: 0.27 s a try, an emulated network answers in a few ms
IPV4_GID = 1  # what Soft-RoCE makes of the first IPv4 address
SEND, RECEIVE, BOTH = 0, 1, 2  # enum Traffic of collectives/native/communicator.h
LINGER_S = 20.0
SHAPES = (
    {"devices": ("rxe0",), "queue_pairs": 1, "split": False, "slot_bytes": 64 << 10},
    {"devices": ("rxe0",), "queue_pairs": 4, "split": True, "slot_bytes": 64 << 10},
    {"devices": ("rxe0",), "queue_pairs": 3, "split": False, "slot_bytes": 4 << 10, "adaptive_threshold": 1024},
    {"devices": ("rxe0", "rxe1"), "queue_pairs": 2, "split": False, "slot_bytes": 256 << 10},
    {"devices": ("rxe0", "rxe1"), "queue_pairs": 2, "split": True, "slot_bytes": 128 << 10, "traffic_class": 106},
)
SIZES = (0, 1, 8, 121, 4096, 65536, 300_001)


class Meeting:
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

    def __init__(self, rank, meeting, *, devices, queue_pairs=1, split=False, slot_bytes=64 << 10, **settings):
        self.peer = 1 - rank
        doorbell = transports.Doorbell()
        rails = [transports.IbRail(name, 1, IPV4_GID, timeout=TIMEOUT, **settings) for name in devices]
        self.proxy = transports.IbProxy(doorbell, LINGER_S)
        end = (self.proxy, rails, self.peer, "the other guest", "NET/IB/0", 4, slot_bytes, queue_pairs, split)
        self.sender, self.receiver = transports.IbSender(*end), transports.IbReceiver(*end)
        for_receiver, for_sender = meeting.swap(self.sender.facts), meeting.swap(self.receiver.facts)
        self.sender.connect(for_sender)
        self.receiver.connect(for_receiver)
        meeting.barrier()
        self._communicator = collectives.Communicator(
            rank, 2, doorbell, [], [], None, [], None, None, timeout_s=LINGER_S, spin_s=0.0005, stream_bytes=0
        )
        pairs = [collectives.Pair(), collectives.Pair()]
        pairs[self.peer] = collectives.Pair(self.sender, self.receiver)
        self._communicator.connect_pairs(pairs)

    def exchange(self, traffic, data, size, times=1):
        came = bytearray(max(size, 1))
        self._communicator.time_pair(self.peer, traffic, data, came, size, 0, times)
        return came[:size]


def pattern(rank: int, size: int) -> bytearray:
    unit = bytes((7 * at + 13 * rank) % 251 for at in range(251))
    return bytearray((unit * (size // 251 + 1))[: max(size, 1)])


def message_of(body) -> str:
    """The error that comes of it, or nothing."""
    try:
        body()
    except Error as error:
        return f"{type(error).__name__}: {error}"
    return ""


def exchanges(rank, meeting, shape):
    """All sizes both ways at once; how many came wrong, and what the queue pairs are set to."""
    pair = Pair(rank, meeting, **shape)
    wrong = sum(
        pair.exchange(BOTH, pattern(rank, size), size, times=3) != pattern(1 - rank, size)[:size] for size in SIZES
    )
    attributes = pair.sender.attributes()
    pair.proxy.close()
    return {"wrong": wrong, "bytes": pair.receiver.bytes, "attributes": attributes, **shape}


def rounds(rank, meeting, count):
    """Connect, exchange and close, again and again."""
    wrong = 0
    for _ in range(count):
        pair = Pair(rank, meeting, devices=("rxe0",), queue_pairs=2)
        wrong += pair.exchange(BOTH, pattern(rank, 5000), 5000) != pattern(1 - rank, 5000)
        pair.proxy.close()
    return {"wrong": wrong, "rounds": count}


def refusals(rank, meeting):
    """What cannot be connected, and what is said."""

    def unlike():
        Pair(rank, meeting, devices=("rxe0",), queue_pairs=1 + rank)

    return {
        "no such device": message_of(lambda: transports.IbRail("mlx5_0", 1, 3)),
        "no such port": message_of(lambda: transports.IbRail("rxe0", 2, IPV4_GID)),
        "no such gid": message_of(lambda: transports.IbRail("rxe0", 1, 500)),
        "empty gid": message_of(lambda: transports.IbRail("rxe0", 1, 9)),
        "no gid": message_of(lambda: transports.IbRail("rxe0", 1, -1)),
        "pkey": message_of(lambda: transports.IbRail("rxe0", 1, IPV4_GID, pkey_index=7)),
        "timeout": message_of(lambda: transports.IbRail("rxe0", 1, IPV4_GID, timeout=32)),
        "unlike ends": message_of(unlike),
    }


def waits_in_vain(pair, meeting):
    """What a rank that only waits for data is told, and after how long."""
    meeting.barrier()
    before = time.monotonic()
    said = message_of(lambda: pair.exchange(RECEIVE, bytearray(8), 8))
    return {"said": said, "seconds": time.monotonic() - before}


def closed(rank, meeting):
    """Rank 1 closes while rank 0 waits for it."""
    pair = Pair(rank, meeting, devices=("rxe0",))
    if rank == 0:
        return waits_in_vain(pair, meeting)
    meeting.barrier()
    time.sleep(0.3)
    pair.proxy.close()
    return {}


def link_down(rank, meeting):
    """Rank 1's link goes while both wait; rank 0's device gives up after 6 retries."""
    pair = Pair(rank, meeting, devices=("rxe1",), retry_count=6)
    if rank == 1:
        subprocess.Popen(["sh", "-c", "sleep 0.5; ip link set rail1 down"])
    return waits_in_vain(pair, meeting)


def killed(rank, meeting):
    """Rank 1 ends without a word while rank 0 waits for it; Soft-RoCE takes 7 retries for no end of them."""
    pair = Pair(rank, meeting, devices=("rxe0",))
    if rank == 0:
        return waits_in_vain(pair, meeting)
    meeting.barrier()
    print(json.dumps(answers), flush=True)
    os._exit(0)


def meet(rank: int, address: str) -> Meeting:
    if rank == 0:
        with socket.create_server((address, PORT)) as listener:
            return Meeting(listener.accept()[0])
    while True:
        try:
            return Meeting(socket.create_connection((address, PORT)))
        except OSError:
            time.sleep(0.2)


answers: dict[str, object] = {}


def run(rank: int, meeting: Meeting, two_guests: bool) -> None:
    shapes = SHAPES if two_guests else SHAPES[:3]  # two devices of one guest cannot reach each other
    answers["refusals"] = refusals(rank, meeting)
    answers["exchanges"] = [exchanges(rank, meeting, shape) for shape in shapes]
    answers["rounds"] = rounds(rank, meeting, 30)
    answers["closed"] = closed(rank, meeting)
    if two_guests:
        answers["link_down"] = link_down(rank, meeting)
    answers["killed"] = killed(rank, meeting)
    print(json.dumps(answers), flush=True)


def main() -> None:
    if sys.argv[1] == "both":
        ends = socket.socketpair()
        rank = 1 if os.fork() == 0 else 0
        ends[1 - rank].close()
        with open(f"/run/io/rank{rank}.json", "w") as out:
            os.dup2(out.fileno(), 1)
        run(rank, Meeting(ends[rank]), two_guests=False)
        if rank == 0:
            os.wait()
    else:
        run(int(sys.argv[1]), meet(int(sys.argv[1]), sys.argv[2]), two_guests=True)


main()
