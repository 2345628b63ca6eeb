# SPDX-License-Identifier: Apache-2.0
"""Finds the lines worth reading in a log of any size: a block at a time, most lines passed over unread.

Nearly all of a job's log is lines of collectives and of the program itself. Two searches over a block find those that
tell something: one that begins with NCCL's name, and one whose alternatives begin with bytes that are rare in text.
Both run at hundreds of MB/s, where a look at each line in turn would not.
"""

import re
from collections.abc import Iterable, Iterator

from railgauge.topo.files.lines import LONGEST

INFO = (
    rb"CCL (?:INFO +(?:\[Rank \d+\] +)?(?:Channel \d+(?:/\d+)? : +\d+ +\d%s|Trees? |NET/|Using |Assigned NET |NCCL_"
    rb"|comm 0x|ncclComm|ncclTopo|\d+ coll|Bootstrap|[NR]CCL version|GPU Direct|MNNVL|Pattern | *\+ (?:PCI|NVL|XGMI)"
    rb"|cuMem |RAS "
    rb"|Search \d|Loading topo|Invalid value|Call |Missing |P2P |Failed |failed |\d+ : NET/|KV Convert)|WARN|ERROR"
    rb"|failure|version)"
)
CHANNEL = rb"|(?:Channel|Ring) \d"
OTHER = (
    rb"(?:Watchdog caught|Warning: couldn't|MR with error|_NOT_PERMITTED|XML Import|MISMATCH|Avg bus|'nvidia_peermem'"
    rb"|-library=|-- GPU |hannels per|iled|ilure|Pid +\d+ on |ks have launched|Driver/library"
    rb"|Bootstrap *: |Using (?:\[|network)|vice found|Duplicate GPU|Multiple Ranks|Missing .iommu|P2P is dis"
    rb"|match with driver|Got (?:comp|async)|GPU Direct RDMA|Error (?:while|:)|Exception \(either"
    rb"|Transport retry|<warn>%s)"
)
"""The words of other programs, and those of NCCL whose header was lost in copying."""
RARE = (b"rror:", b"] INFO ")
"""Words in few logs, each looked for by itself, which is faster than as a part of a pattern."""
UNNAMED_WARNING = re.compile(rb"\] [\w./+-]+:\d+ WARN ")
"""Of NCCL 2.0 to 2.3, which did not name itself, neither before INFO."""
NARROW = 70
"""A warning as long as this may be wrapped by a terminal: then it goes on in the line below it."""
LAST_ERROR = b"Last error:"
"""In PyTorch's words; what NCCL said is in the line below it."""
VIA = rb"|via (?:NET|P2P|SHM|direct |CollNet|COLLNET|NVLS)"
WITH_CONNECTIONS = tuple(re.compile(pattern) for pattern in (INFO % CHANNEL, OTHER % VIA))
WITHOUT_CONNECTIONS = tuple(re.compile(pattern) for pattern in (INFO % b"", OTHER % b""))


def lines(block: bytes, *, connections: bool = True) -> Iterator[bytes]:
    """The lines of a block that may tell something, in their order; those on connections only where asked for."""
    begins = _begins(WITH_CONNECTIONS if connections else WITHOUT_CONNECTIONS, block)
    rare = {begin for word in RARE for begin in _begins_with(word, block)}
    if any(b"] INFO " in _line(block, begin) for begin in rare):
        rare |= _begins((UNNAMED_WARNING,), block)
    begins |= rare
    open_ended = {*rare, *_begins_with(b" WARN ", block)}
    for begin in sorted(begins):
        yield (line := _line(block, begin))
        if begin not in open_ended:
            continue
        below = begin + len(line) + 1
        goes_on = line.rstrip().endswith(LAST_ERROR) or (len(line) >= NARROW and b" WARN " in line)
        if goes_on and below < len(block) and below not in begins:
            yield _line(block, below)


def lines_with(patterns: Iterable[re.Pattern[bytes]], block: bytes) -> Iterator[bytes]:
    """The lines of a block in which one of some patterns is found, in their order."""
    for begin in sorted(_begins(patterns, block)):
        yield _line(block, begin)


def _begins(patterns: Iterable[re.Pattern[bytes]], block: bytes) -> set[int]:
    """Where the lines begin in which one of some patterns is found."""
    begins = set()
    for pattern in patterns:
        end = 0
        while found := pattern.search(block, end):
            begins.add(block.rfind(b"\n", 0, found.start()) + 1)
            end = _end_of_line(block, found.end())
    return begins


def _begins_with(word: bytes, block: bytes) -> Iterator[int]:
    """Where the lines begin that have a word."""
    end = 0
    while (at := block.find(word, end)) >= 0:
        yield block.rfind(b"\n", 0, at) + 1
        end = _end_of_line(block, at)


def _line(block: bytes, begin: int) -> bytes:
    return block[begin : min(_end_of_line(block, begin), begin + LONGEST)]


def _end_of_line(block: bytes, position: int) -> int:
    end = block.find(b"\n", position)
    return end if end >= 0 else len(block)
