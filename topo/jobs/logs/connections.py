# SPDX-License-Identifier: Apache-2.0
"""The connections of a log: which two ranks, on which channel, by which transport.

    Ring 00 : 0[0] -> 1[1] via P2P/IPC                             2.3, 2.4 (`Ring 00 : 1 -> 0 [receive] via NET/IB/0`)
    Channel 00 : 0[1a000] -> 1[1b000] via direct shared memory     2.5 to 2.11: bus ids in brackets
    Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0(3)/GDRDMA      since 2.12; (3): rank 3 sends for it, PXN
    Channel 00/0 : 0[1] -> 1[2] via P2P/IPC comm 0x55 nRanks 04    RCCL

Both ends of a network connection log their side; of others only the sender.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

MOST = 1 << 16
"""Connections that are kept one by one, twice the rings of 1,024 ranks on 32 channels. Beyond, they are counted."""
CONNECTION = re.compile(
    r"(?:(?:Channel|Ring) +(?P<channel>\d{1,4})(?:/\d+)? *: *)?\b(?P<source>\d{1,7})(?:\[(?P<source_on>[\w.]*)\])?"
    r" *(?:-+&gt;|[^\w\s\[]{0,4}) *(?P<target>\d{1,7})(?:\[(?P<target_on>[\w.]*)\])? *"
    r"(?:\[(?P<end>send|receive)\] *)?via +"
    r"(?P<via>NET/[A-Za-z][\w ]*/\d+[^\s,;]*|P2P/direct pointer\S*|P2P/[A-Za-z][^\s,;]*|SHM[^\s,;]*"
    r"|direct shared memory)"
)
WHOLE = re.compile(
    rb"([!#-+\x2d-9;-\\^_a-~]{1,255}):(\d{1,9}):(\d{1,9}) \[\d{1,3}\] NCCL INFO "
    rb"Channel (\d{1,4})(?:/\d+)? : (\d{1,7})\[(\w*)\] -> (\d{1,7})\[(\w*)\] (?:\[(send|receive)\] )?"
    rb"via ((?:NET/[A-Za-z]\w*/\d+|P2P/[A-Za-z]|SHM)[\x21-\x2b\x2d-\x3a\x3c-\x7e]*)"
)
"""A line that is nothing else, as nearly all are: what `messages` and CONNECTION find in it, faster."""
NAMED = b"CCL INFO Channel "
TOLD = re.compile(rb"([^\s\]:,`]*):[\d:]+ \[\d+\] [NR]CCL INFO Channel [^>]+> [^ ]+ (.*)")
"""A whole line of a connection, for counting: the host, and the text behind the two ranks."""
ALONE = re.compile(rb"([^:]*):[\d:]* \[[^]]*\] [NR]CCL INFO Channel [^>]*> [^ ]* (.*)\n")
"""The same, faster: it is right where it is found as often as there are lines. Before the host more may stand."""
HOST = re.compile(r"[^\s\]:,`]*$")
WAY = re.compile(r"(?:\[(send|receive)\] )?via ((?:NET|P2P|SHM)[^\s\\\",;]*)")
BY_TCP = ("NET/Socket", "NET/FastSocket", "NET/GPUDirectTCPX", "NET/FasTrak")
"""Networks without RDMA: NCCL's own sockets, and plugins of Google Cloud."""
GDR = "/GDRDMA"


class LoggedConnection(NamedTuple):
    """One side of a connection, as a rank logs it. `end` is "send", "receive", or "" if one side logs for both.

    channel: -1 if not logged. comm: its communicator, "" if unknown. host: of the rank that
    logs it.
    """

    comm: str
    channel: int
    source: int
    target: int
    end: str
    via: str
    host: str

    @property
    def transport(self) -> str:
        """P2P, SHM or the network: NET/IB, NET/Socket, NET/Libfabric."""
        return transport(self.via)

    @property
    def gdr(self) -> bool:
        """Whether the NIC reads or writes the GPU's memory itself."""
        return GDR in self.via

    @property
    def teller(self) -> int:
        """The rank that logs it."""
        return self.target if self.end == "receive" else self.source


class LoggedTraffic(NamedTuple):
    """The common properties of connections that are counted and not kept."""

    host: str
    end: str
    via: str


class LoggedConnections:
    """The connections of a log, the first MOST one by one, the others by what they have in common."""

    def __init__(self) -> None:
        self.kept: dict[LoggedConnection, None] = {}
        self.brackets: dict[tuple[str, int], str] = {}
        """What is in brackets behind a rank, by communicator and rank: its device or, in 2.5 to 2.11, its bus id."""
        self._folded: tuple[int, Counter[LoggedTraffic]] = 0, Counter()  # of so many that are kept
        self._beyond: Counter[LoggedTraffic] = Counter()
        self._told: Counter[tuple[bytes, bytes]] = Counter()  # counted and not yet understood

    @property
    def beyond(self) -> Counter[LoggedTraffic]:
        """Those that are counted and not kept."""
        self._understand()
        return self._beyond

    def _understand(self) -> None:
        for (host, behind), times in self._told.items():
            name = HOST.search(host.decode("utf-8", "replace"))
            if name and (way := WAY.match(behind.decode("utf-8", "replace"))):
                self._beyond[LoggedTraffic(name[0], way[1] or "", way[2])] += times
        self._told.clear()

    @property
    def full(self) -> bool:
        """Whether no more are kept."""
        return len(self.kept) >= MOST

    @property
    def by_network(self) -> bool:
        """Whether one is of the network."""
        ways = itertools.chain((one.via for one in self.kept), (one.via for one in self.beyond))
        return any(via.startswith("NET/") for via in ways)

    def whole(self, raw: bytes, threads: Mapping[tuple[str, int, int], str]) -> str:
        """Take one from a line of a log that is nothing else: the host that logs it, "" for any other line.

        threads: communicators by host, process and thread.
        """
        found = WHOLE.fullmatch(raw)
        if not found:
            return ""
        name, pid, thread, channel, source, source_on, target, target_on, end, via = found.groups()
        host = name.decode()
        comm = threads.get((host, int(pid), int(thread)), "")
        ranks = int(source), int(target)
        self.brackets[comm, ranks[0]], self.brackets[comm, ranks[1]] = source_on.decode(), target_on.decode()
        told = (end or b"").decode(), via.decode()
        self.kept[LoggedConnection(comm, int(channel), *ranks, *told, host)] = None
        return host

    def read(self, text: str, host: str, comm: str) -> bool:
        """Take one from a line; False where there is none."""
        found = CONNECTION.search(text)
        if not found:
            return False
        channel, source, source_on, target, target_on, end, via = found.groups()
        ranks = int(source), int(target)
        self.brackets[comm, ranks[0]], self.brackets[comm, ranks[1]] = source_on or "", target_on or ""
        self.kept[LoggedConnection(comm, int(channel or -1), *ranks, end or "", via, host)] = None
        return True

    def count(self, block: bytes) -> bool:
        """Count those of a block, for when no more are kept: of lines that are whole. Whether there is nothing else."""
        lines = block.count(b"\n")
        told = ALONE.findall(block) if block.count(NAMED) >= lines else []  # slow where other lines are among them
        alone = len(told) == lines
        if not alone:
            told = [found.groups() for line in block.split(b"\n") if NAMED in line and (found := TOLD.search(line))]
        self._told.update(told)
        if len(self._told) > MOST:
            self._understand()
        return alone

    def traffic(self) -> Iterator[tuple[LoggedTraffic, int]]:
        """All of them, folded by what they have in common."""
        if self._folded[0] != len(self.kept):
            kept = Counter((one.host, one.end, one.via) for one in self.kept)
            self._folded = len(self.kept), Counter({LoggedTraffic(*one): times for one, times in kept.items()})
        yield from (self._folded[1] + self.beyond).items()


def transport(via: str) -> str:
    """P2P, SHM or the network of what comes after `via`."""
    if via == "direct shared memory":
        return "SHM"
    return "/".join(via.split("/")[:2]) if via.startswith("NET/") else via.split("/")[0]
