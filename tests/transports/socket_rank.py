# SPDX-License-Identifier: Apache-2.0
"""One of two ranks that all-reduce over NET/Socket and check every element: a program for other hosts.

    socket_rank.py RANK TIMEOUT_S COUNT INTERFACE=ADDRESS...

One channel for each interface. It writes where it listens, reads where the other does, and then writes a line for every
operation that was right, until one fails or its stdin ends; the last line says how it ended.
"""

import json
import os
import select
import socket
import sys
import time

import numpy as np

from railgauge._native import collectives, transports
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.topo.errors import Error
from railgauge.transports.data_connection import Name, connect, sockets_of
from railgauge.transports.data_listener import DataListener
from railgauge.transports.interface import Interface
from railgauge.transports.socket_threads import socket_threads
from railgauge.transports.tcp import peer_name

SECRET = b"of this test"
SLOTS, SLOT_BYTES = 4, 256 << 10
RING, SIMPLE, ALL_REDUCE = 0, 0, 0


def main(rank, timeout_s, count, *rails):
    """Be that rank."""
    interfaces = [interface(*rail.split("=")) for rail in rails]
    comm, proxy = connected(rank, timeout_s, interfaces)
    number = 0
    try:
        while not select.select([sys.stdin], [], [], 0)[0]:
            began = time.monotonic()
            all_reduce(comm, rank, count, number)
            print(f"right {number} {time.monotonic() - began:.6f}", flush=True)
            number += 1
        proxy.close()
        print("end", flush=True)
    except Error as error:
        proxy.abort()
        print(f"{type(error).__name__}: {error}", flush=True)


def interface(name, address):
    """As the plan would name it."""
    return Interface(name, address, socket.AF_INET6 if ":" in address else socket.AF_INET, "a test")


def connected(rank, timeout_s, interfaces):
    """A communicator with a ring over each interface."""
    listener = DataListener(SECRET, timeout_s)
    print(json.dumps([listener.address(one) for one in interfaces]), flush=True)
    there = json.loads(sys.stdin.readline())
    doorbell = transports.Doorbell()
    proxy = transports.SocketProxy(doorbell, timeout_s)
    shapes = [socket_threads(one.name, os.environ) for one in interfaces]
    incoming = [sockets_of(Name(rail, 1 - rank, rank), shape.sockets) for rail, shape in enumerate(shapes)]
    outgoing = [sockets_of(Name(rail, rank, 1 - rank), shape.sockets) for rail, shape in enumerate(shapes)]
    deadline = time.monotonic() + timeout_s
    with listener.accepting({name for names in incoming for name in names}, deadline, lambda: False):
        opened = [
            connect(names, tuple(address), own, SECRET, deadline=deadline, timeout_s=timeout_s)
            for names, address, own in zip(outgoing, there, interfaces, strict=True)
        ]
    ends = {}
    for rail, (socks, shape) in enumerate(zip(opened, shapes, strict=True)):

        def end(kind, some, rail=rail, shape=shape):
            where, fds = peer_name(some[0]), [sock.detach() for sock in some]
            return kind(proxy, fds, shape.threads, 1 - rank, where, f"NET/Socket/{rail}", SLOTS, SLOT_BYTES)

        ends[rail, 1 - rank] = end(transports.SocketReceiver, listener.taken(incoming[rail]))
        ends[rail, rank] = end(transports.SocketSender, socks)
    listener.close()
    comm = collectives.Communicator(
        rank,
        2,
        doorbell,
        Made(ends),
        [[0], [1]],
        [([0, 1], [(rail, rail)] * 2) for rail in range(len(opened))],
        [],
        cube=False,
        across=False,
        segments=False,
        timeout_s=timeout_s,
        crowded=False,
        stream_bytes=1 << 60,
    )
    comm.choose(ALL_REDUCE, [(1 << 60, RING, len(opened), SIMPLE)])
    return comm, proxy


class Made:
    """Connections that were made before, by channel and sending rank."""

    def __init__(self, ends):
        self._ends = ends

    def connect(self, steps):
        return [self._ends[channel, source] for channel, source, _, _ in steps]


def all_reduce(comm, rank, count, number):
    """Integers that differ for every element, rank and operation."""
    parts = [(np.arange(count, dtype=np.int64) * 7 + number + 1000 * one).astype(np.int32) for one in (0, 1)]
    result = np.full(count, -1, np.int32)
    comm.run(ALL_REDUCE, parts[rank], result, count, int(Dtype.INT32), int(Redop.SUM), 0)
    assert np.array_equal(result, parts[0] + parts[1]), "wrong data"


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
