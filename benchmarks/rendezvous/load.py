# SPDX-License-Identifier: Apache-2.0
"""The load generator: one sample of one program. Every rank is a thread that uses the program's own interface.

    load.py PROGRAM RANKS BYTES PROCESSES            starts the processes and prints {"met_s", "done_s"}
    load.py PROGRAM RANKS BYTES PROCESSES NUMBER PORT    is one of them; process 0 has rank 0 alone

It runs with any Python, and imports what the program needs alone.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta

LIMIT_S = 120
STACK = 512 << 10
SWITCH_S = 0.2
"""Hundreds of threads that wait for one interpreter look every so often whether it is free; the usual 5 ms of each of
them keep the cores busy with looking. They still take turns whenever one waits for the network."""


def start(program: str, ranks: int, size: int, processes: int) -> None:
    """Start all processes, release them together, and print when the last rank was ready."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-P", __file__, program, str(ranks), str(size), str(processes)]
    started = [
        subprocess.Popen([*command, str(n), str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for n in range(processes + 1)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        began = time.monotonic()
        for process in started:
            print("go", file=process.stdin, flush=True)
        times = [json.loads(process.stdout.readline()) for process in started if process.stdout]
        for process in started:
            process.communicate(timeout=LIMIT_S)
        met, done = (max(each) - began for each in zip(*times, strict=True))
        print(json.dumps({"met_s": round(met, 4), "done_s": round(done, 4)}))
    finally:
        for process in started:
            process.kill()


def take_part(program: str, ranks: int, size: int, processes: int, number: int, port: int) -> None:
    """One process: its ranks wait for the start, and report when the last of them had joined, and had all values."""
    values = [rank.to_bytes(4, "big") * (size // 4) for rank in range(ranks)]
    rank_main = PROGRAMS[program](values, port)
    share = range(1 + (number - 1) * (ranks - 1) // processes, 1 + number * (ranks - 1) // processes)
    go, times, kept = threading.Event(), [], []

    def main(rank: int) -> None:
        go.wait()
        met, got, keep = rank_main(rank)
        times.append((met, time.monotonic()))
        kept.append(keep)
        if got != values:
            print(f"rank {rank} has wrong data", file=sys.stderr)
            os._exit(1)

    threading.stack_size(STACK)
    sys.setswitchinterval(SWITCH_S)
    threads = [threading.Thread(target=main, args=(rank,)) for rank in (share if number else [0])]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    go.set()
    for thread in threads:
        thread.join()
    if len(times) < len(threads):
        os._exit(1)
    print(json.dumps([max(column) for column in zip(*times, strict=True)]), flush=True)
    sys.stdin.readline()  # connections stay until all are done
    os._exit(0)


RankMain = Callable[[int], tuple[float, list[bytes], object]]
"""Runs a rank: returns when it had joined, what it received, and what must be kept until all are done."""


def railgauge(values: list[bytes], port: int) -> RankMain:
    """A TCPStore, the rendezvous through it, and the bootstrap's all-gather; with a job secret as set by launchers."""
    from railgauge.transports.rendezvous import Share, meet
    from railgauge.transports.store.tcp_store import TCPStore

    ranks, secret = len(values), b"secret of the benchmark"

    def main(rank: int) -> tuple[float, list[bytes], object]:
        store = TCPStore("127.0.0.1", port, is_master=rank == 0, timeout=timedelta(seconds=LIMIT_S), secret=secret)
        share = Share(process=rank, processes=ranks, ranks_per_process=1)
        rendezvous = meet(store, share, timeout_s=LIMIT_S, secret=secret, version="", environ={})
        bootstrap = rendezvous.join(rank)
        met = time.monotonic()
        return met, bootstrap.all_gather_bytes(values[rank]), (store, rendezvous, bootstrap)

    return main


def torch(values: list[bytes], port: int, *, libuv: bool) -> RankMain:
    """A TCPStore: each rank sets its value, waits at a barrier of add and wait, and gets all in one multi_get."""
    from torch.distributed import TCPStore

    ranks = len(values)
    keys = [f"value/{rank}" for rank in range(ranks)]

    def main(rank: int) -> tuple[float, list[bytes], object]:
        limit = timedelta(seconds=LIMIT_S)
        store = TCPStore("127.0.0.1", port, ranks, rank == 0, limit, wait_for_workers=False, use_libuv=libuv)
        store.set(keys[rank], values[rank])
        if store.add("come", 1) == ranks:
            store.set("all", b"1")
        store.wait(["all"])
        met = time.monotonic()
        return met, store.multi_get(keys), store

    return main


def floor(values: list[bytes], port: int) -> RankMain:
    """The lower bound of any star: rank 0 sends all values to each other rank, in one piece."""
    everything = b"".join(values)
    size = len(values[0])

    def serve() -> None:
        with socket.create_server(("127.0.0.1", port), backlog=4096) as listener:
            others = [listener.accept()[0] for _ in values[1:]]
        for other in others:
            other.sendall(everything)
            other.close()

    def main(rank: int) -> tuple[float, list[bytes], object]:
        if rank == 0:
            serve()
            return time.monotonic(), values, None
        sock, got = dial(port), bytearray(len(everything))
        met, at = time.monotonic(), 0
        while at < len(got):
            at += sock.recv_into(memoryview(got)[at:])
        return met, [bytes(got[start : start + size]) for start in range(0, len(got), size)], sock

    return main


def dial(port: int) -> socket.socket:
    """Connect to rank 0, which may still be starting."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), LIMIT_S)
        except ConnectionRefusedError:
            time.sleep(0.01)


PROGRAMS: dict[str, Callable[[list[bytes], int], RankMain]] = {
    "railgauge": railgauge,
    "torch-libuv": lambda values, port: torch(values, port, libuv=True),
    "torch-threads": lambda values, port: torch(values, port, libuv=False),
    "floor": floor,
}

if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[2:]]
    (take_part if len(numbers) > 3 else start)(sys.argv[1], *numbers)
