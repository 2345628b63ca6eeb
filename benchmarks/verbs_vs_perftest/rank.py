# SPDX-License-Identifier: Apache-2.0
"""The program of each of the two VMs: perftest and the transport in turns; rank 1 prints a JSON line for each sample.

Arguments: RANK ADDRESS TURNS; rank 0 listens there. perftest only polls; ours polls for 2 ms before it sleeps, as
`railgauge run` does where every rank has a core.
"""

import json
import statistics
import sys

from benchmarks.verbs_vs_perftest.perftest import bandwidth_mb_per_s, latency_us
from tests.vm.in_guest.ib_ends import ANSWER, ASK, RECEIVE, SEND, Pair, Rendezvous, meet, pattern

DEVICE = "rxe0"
LARGE, LARGE_TIMES = 1 << 20, 20
SMALL, SMALL_TIMES, BATCHES = 8, 20, 50
SLOT_BYTES = 256 << 10


def perftest_bandwidth(rank: int, address: str, rendezvous: Rendezvous) -> dict[str, float]:
    return {"mb_per_s": bandwidth_mb_per_s(rank, address, rendezvous, DEVICE, LARGE, LARGE_TIMES)}


def perftest_latency(rank: int, address: str, rendezvous: Rendezvous) -> dict[str, float]:
    return latency_us(rank, address, rendezvous, DEVICE, SMALL, SMALL_TIMES * BATCHES)


def our_bandwidth(rank: int, pair: Pair) -> dict[str, float]:
    """One direction, from the sender's registered memory, as in perftest, to the receiver's, which verifies it."""
    data, came = pattern(1, LARGE), bytearray(LARGE)
    with pair.registered(data):
        seconds = pair.time(SEND if rank else RECEIVE, data, came, LARGE, times=LARGE_TIMES)
    if rank == 0 and came != data:
        raise RuntimeError("received data differs from sent data")
    return {"mb_per_s": LARGE / seconds / 1e6}


def our_latency(rank: int, pair: Pair) -> dict[str, float]:
    """Half of a round trip, the mean of all; the least is a batch's, since single ones take longer to time."""
    data, came = pattern(rank, SMALL), bytearray(SMALL)
    batches = [
        pair.time(ASK if rank else ANSWER, data, came, SMALL, times=SMALL_TIMES) * 1e6 / 2 for _ in range(BATCHES)
    ]
    if came != pattern(1 - rank, SMALL):
        raise RuntimeError("received data differs from sent data")
    return {"least_us": min(batches), "mean_us": statistics.mean(batches)}


def main() -> None:
    rank, address, turns = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    rendezvous = meet(rank, address)
    pairs = {
        what: Pair(rank, rendezvous, devices=(DEVICE,), slot_bytes=SLOT_BYTES) for what in ("bandwidth", "latency")
    }
    measures = {
        ("perftest", "bandwidth"): lambda: perftest_bandwidth(rank, address, rendezvous),
        ("railgauge", "bandwidth"): lambda: our_bandwidth(rank, pairs["bandwidth"]),
        ("perftest", "latency"): lambda: perftest_latency(rank, address, rendezvous),
        ("railgauge", "latency"): lambda: our_latency(rank, pairs["latency"]),
    }
    for turn in range(turns):
        for program, what in list(measures)[:: -1 if turn % 2 else 1]:
            rendezvous.barrier()
            found = measures[program, what]()
            if rank == 1:
                print(json.dumps({"program": program, "what": what, "turn": turn, **found}), flush=True)
    for pair in pairs.values():
        pair.proxy.close()


main()
