# SPDX-License-Identifier: Apache-2.0
"""Two ranks, one RDMA connection each way, again and again: prints a JSON object of what came of each scenario.

Arguments: RANK ADDRESS, where rank 0 listens and rank 1 calls; or `both`: two processes of one guest.
"""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.vm.in_guest.ib_ends import BOTH, IPV4_GID, RECEIVE, SEND, Pair, Rendezvous, meet, pattern

from railgauge._native import transports
from railgauge.topo.errors import Error

SHAPES = (
    {"devices": ("rxe0",), "queue_pairs": 1, "split": False, "slot_bytes": 64 << 10},
    {"devices": ("rxe0",), "queue_pairs": 4, "split": True, "slot_bytes": 64 << 10},
    {"devices": ("rxe0",), "queue_pairs": 3, "split": False, "slot_bytes": 4 << 10, "adaptive_threshold": 1024},
    {"devices": ("rxe0", "rxe1"), "queue_pairs": 2, "split": False, "slot_bytes": 256 << 10},
    {"devices": ("rxe0", "rxe1"), "queue_pairs": 2, "split": True, "slot_bytes": 128 << 10, "traffic_class": 106},
)
COUNTED = {8: 1000, 65536: 100}
SIZES = (0, 1, 8, 121, 4096, 65536, 300_001)


def message_of(body) -> str:
    """The error that comes of it, or nothing."""
    try:
        body()
    except Error as error:
        return f"{type(error).__name__}: {error}"
    return ""


def exchanges(rank, rendezvous, shape):
    """All sizes both ways at once; how many came wrong, and what the queue pairs are set to."""
    pair = Pair(rank, rendezvous, **shape)
    wrong = sum(
        pair.exchange(BOTH, pattern(rank, size), size, times=3, registered=registered) != pattern(1 - rank, size)[:size]
        for registered in (False, True)
        for size in SIZES
    )
    attributes = pair.sender.attributes()
    pair.proxy.close()
    return {"wrong": wrong, "bytes": pair.receiver.bytes, "attributes": attributes, **shape}


def notes(name):
    """Notes that Soft-RoCE has sent by a device and that have arrived: nothing else goes by SEND (rxe_comp.c)."""
    return int(Path(f"/sys/class/infiniband/{name}/ports/1/hw_counters/rdma_sends").read_text())


def counted(rank, rendezvous, size, times):
    """The notes that this rank sends for messages from rank 1 to rank 0."""
    pair = Pair(rank, rendezvous, devices=("rxe0",), slot_bytes=64 << 10)
    data, came, traffic = pattern(1, size), bytearray(size), SEND if rank else RECEIVE
    rendezvous.barrier()
    before = notes("rxe0")
    pair.time(traffic, data, came, size, times)
    sent = notes("rxe0") - before
    rendezvous.barrier()
    pair.proxy.close()
    return {"notes": sent, "wrong": rank == 0 and came != data[:size]}


def rounds(rank, rendezvous, count):
    """Connect, exchange and close, again and again."""
    wrong = 0
    for _ in range(count):
        pair = Pair(rank, rendezvous, devices=("rxe0",), queue_pairs=2)
        wrong += pair.exchange(BOTH, pattern(rank, 5000), 5000) != pattern(1 - rank, 5000)
        pair.proxy.close()
    return {"wrong": wrong, "rounds": count}


def refusals(rank, rendezvous):
    """What cannot be connected, and what is said."""

    def never_registered():
        transports.IbProxy(transports.Doorbell(), 1.0).deregister(4096, 1)

    def unlike():
        Pair(rank, rendezvous, devices=("rxe0",), queue_pairs=1 + rank)

    return {
        "no such device": message_of(lambda: transports.IbRail("mlx5_0", 1, 3)),
        "no such port": message_of(lambda: transports.IbRail("rxe0", 2, IPV4_GID)),
        "no such gid": message_of(lambda: transports.IbRail("rxe0", 1, 500)),
        "empty gid": message_of(lambda: transports.IbRail("rxe0", 1, 9)),
        "no gid": message_of(lambda: transports.IbRail("rxe0", 1, -1)),
        "pkey": message_of(lambda: transports.IbRail("rxe0", 1, IPV4_GID, pkey_index=7)),
        "timeout": message_of(lambda: transports.IbRail("rxe0", 1, IPV4_GID, timeout=32)),
        "unlike ends": message_of(unlike),
        "never registered": message_of(never_registered),
    }


def waits_in_vain(pair, rendezvous):
    """What a rank that only waits for data hears; a wait that reaches its limit says that."""
    rendezvous.barrier()
    return {"said": message_of(lambda: pair.exchange(RECEIVE, bytearray(8), 8))}


def closed(rank, rendezvous):
    """Rank 1 closes while rank 0 waits for it."""
    pair = Pair(rank, rendezvous, devices=("rxe0",))
    if rank == 0:
        return waits_in_vain(pair, rendezvous)
    rendezvous.barrier()
    time.sleep(0.3)
    pair.proxy.close()
    return {}


def link_down(rank, rendezvous):
    """Rank 1's link goes while both wait; rank 0's device gives up after 6 retries."""
    pair = Pair(rank, rendezvous, devices=("rxe1",), retry_count=6)
    if rank == 1:
        subprocess.Popen(["sh", "-c", "sleep 0.5; ip link set rail1 down"])
    return waits_in_vain(pair, rendezvous)


def rail_silent(rank, rendezvous):
    """One of rank 1's two links loses all packets while rank 0 waits; its device takes 7 retries for no end of them."""
    pair = Pair(rank, rendezvous, devices=("rxe0", "rxe1"), retry_count=7)
    said = {}
    if rank == 0:
        said = waits_in_vain(pair, rendezvous)
    else:
        rendezvous.barrier()
        subprocess.run(["tc", "qdisc", "add", "dev", "rail1", "root", "netem", "loss", "100%"], check=True)
    rendezvous.barrier()
    if rank == 1:
        subprocess.run(["tc", "qdisc", "del", "dev", "rail1", "root"], check=True)
    pair.proxy.abort()
    pair.proxy.close()
    return said


def killed(rank, rendezvous):
    """Rank 1 ends without a word while rank 0 waits for it; Soft-RoCE takes 7 retries for no end of them."""
    pair = Pair(rank, rendezvous, devices=("rxe0",))
    if rank == 0:
        return waits_in_vain(pair, rendezvous)
    rendezvous.barrier()
    print(json.dumps(answers), flush=True)
    os._exit(0)


answers: dict[str, object] = {}


def run(rank: int, rendezvous: Rendezvous, two_guests: bool) -> None:
    shapes = SHAPES if two_guests else SHAPES[:3]  # two devices of one guest cannot reach each other
    answers["refusals"] = refusals(rank, rendezvous)
    answers["exchanges"] = [exchanges(rank, rendezvous, shape) for shape in shapes]
    answers["rounds"] = rounds(rank, rendezvous, 30)
    answers["closed"] = closed(rank, rendezvous)
    if two_guests:
        answers["counted"] = {size: counted(rank, rendezvous, size, times) for size, times in COUNTED.items()}
        answers["rail_silent"] = rail_silent(rank, rendezvous)
        answers["link_down"] = link_down(rank, rendezvous)
    answers["killed"] = killed(rank, rendezvous)
    print(json.dumps(answers), flush=True)


def main() -> None:
    if sys.argv[1] == "both":
        ends = socket.socketpair()
        rank = 1 if os.fork() == 0 else 0
        ends[1 - rank].close()
        with open(f"/run/io/rank{rank}.json", "w") as out:
            os.dup2(out.fileno(), 1)
        run(rank, Rendezvous(ends[rank]), two_guests=False)
        if rank == 0:
            os.wait()
    else:
        run(int(sys.argv[1]), meet(int(sys.argv[1]), sys.argv[2]), two_guests=True)


main()
