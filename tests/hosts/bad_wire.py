# SPDX-License-Identifier: Apache-2.0
"""A wire between two hosts that loses, delays, reorders, doubles or damages packets, by a seed.

    with bad_wire(hosts, lose=0.01) as addresses:      # of `bad0` on either host

It is a pair of TAP interfaces (Documentation/networking/tuntap.rst of Linux) with a thread in between, so that it works
where tc-netem(8) is not in the kernel.
"""

import contextlib
import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import subprocess
import threading
import time

import pytest
from tests.patience import HANGS_AFTER_S

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
ADDRESSES = ("10.79.0.1", "10.79.0.2")
MTU = 4000


class Wire:
    """What happens to packets: chances from 0 to 1; `delay_s` is the longest, of one packet in two."""

    def __init__(self, ends, *, lose=0.0, double=0.0, damage=0.0, delay_s=0.0, seed=1):
        self._ends = ends
        self._lose, self._double, self._damage, self._delay_s = lose, double, damage, delay_s
        self._random = random.Random(seed)
        self._order = itertools.count()
        self._under_way = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self):
        self._stop.set()
        self._thread.join()
        for end in self._ends:
            os.close(end)

    def _run(self):
        while not self._stop.is_set():
            due = self._under_way[0][0] - time.monotonic() if self._under_way else 0.05
            for end in select.select(self._ends, [], [], max(0.0, due))[0]:
                with contextlib.suppress(OSError):
                    self._take(os.read(end, 65536), self._ends[end == self._ends[0]])
            while self._under_way and self._under_way[0][0] <= time.monotonic():
                _, _, packet, end = heapq.heappop(self._under_way)
                with contextlib.suppress(OSError):  # the interface is down
                    os.write(end, packet)

    def _take(self, packet, end):
        chance = self._random.random
        if chance() < self._lose:
            return
        if chance() < self._damage:
            at = self._random.randrange(len(packet))
            packet = packet[:at] + bytes([packet[at] ^ 1 << self._random.randrange(8)]) + packet[at + 1 :]
        for _ in range(1 + (chance() < self._double)):
            later = chance() * self._delay_s if chance() < 0.5 else 0.0
            heapq.heappush(self._under_way, (time.monotonic() + later, next(self._order), packet, end))


@contextlib.contextmanager
def bad_wire(hosts, **what):
    """Such a wire for the time of the block; skips the test where there are no TAP interfaces."""
    ends = []
    try:
        for host, namespace in enumerate(hosts.namespaces[:2]):
            name = f"bad{os.getpid() % 100000}-{host}"
            ends.append(os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK))
            fcntl.ioctl(ends[-1], TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
            for step in (
                f"link set {name} netns {namespace} name bad0 mtu {MTU}",
                f"-n {namespace} address add {ADDRESSES[host]}/24 dev bad0",
                f"-n {namespace} link set bad0 up",
            ):
                subprocess.run(["ip", *step.split()], check=True, capture_output=True, timeout=HANGS_AFTER_S)
    except (OSError, subprocess.CalledProcessError) as error:
        for end in ends:
            os.close(end)
        pytest.skip(f"no TAP interfaces: {error}")
    wire = Wire(ends, **what)
    try:
        yield ADDRESSES
    finally:
        wire.close()
