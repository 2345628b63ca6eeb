# SPDX-License-Identifier: Apache-2.0
"""Finds the lines worth reading in a log of any size: a block at a time, most lines passed over unread.

Nearly all of a job's log is lines of collectives and of the program itself, which differ in their numbers alone. So the
words are looked for once in each shape of lines: the line with every digit, and every letter that is one of a
hexadecimal number, replaced by 0. The words get the same replacement: a line that holds one has a shape that does.
"""

import re
from collections.abc import Iterator

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
    rb"|hipErr|SIG(?:KILL|BUS)|oom_kill|OOM|Out [Oo]f|code = -|xit ?code|clients joined|cannot connect"
    rb"|imed out|10d store|got 0 bytes|not loaded| refused|esolve host|ame resolution|rvice not known|ost not found"
    rb"|gai error|undefined symbol"
    rb"|already in use|worker process|process identifier|TCP connection|SIG(?:HUP|SEGV|TERM)|got signal|by signal"
    rb"|exited on signal|tion signal|ught signal|DUE TO|due to (?:time|pre)|victed|HIP |hip[A-Z]|Segm"
    rb"|emporarily|Address in|fault by|nable to |GPU Hang|less than desired|unreach|rror in|of bounds|died (?:or|unex)"
    rb"|ommand not|rmission denied|execvp|redential|not enough|PMI|pmixp|selected pml|ted component|OFI "
    rb"|no usable|active messages|is not available|INIT has|in internal_Init|lost communication|RegisterTask"
    rb"|registration failed|service agent|distributed service|the rendezvous|joining a group|evice ordinal|num_gpus"
    rb"|TOO_MANY|peer mapping|CONTAINED|nvlink or|reverse path|not read node|nvalid gid|recv fail|workers joined"
    rb"|dialing"
    rb"|Transport retry|<warn>|rror:|\] [\w./+-]+:\d+ WARN |\] INFO %s)"
)
"""The words of other programs, those of NCCL whose header was lost in copying, and the headers of 2.0 to 2.3, which did
not name itself."""
NARROW = 70
"""A warning as long as this may be wrapped by a terminal: then it goes on in the line below it."""
LAST_ERROR = b"Last error:"
"""In PyTorch's words; what NCCL said is in the line below it."""
VIA = rb"|via (?:NET|P2P|SHM|direct |CollNet|COLLNET|NVLS)"
DIGITS = b"0123456789abcdef"
TO_SHAPE = bytes.maketrans(DIGITS, b"0" * len(DIGITS))
LITERAL = re.compile(rb"\\.|[0-9a-f]")
MOST_SHAPES = 1 << 13
LONGEST_SHAPE = 1 << 9  # longer ones are looked at each time


def _of_shapes(*patterns: bytes) -> tuple[re.Pattern[bytes], ...]:
    """Patterns of lines, made to match the shapes of these lines."""
    return tuple(
        re.compile(LITERAL.sub(lambda found: found[0] if found[0][:1] == b"\\" else b"0", pattern))
        for pattern in patterns
    )


WITH_CONNECTIONS = _of_shapes(INFO % CHANNEL, OTHER % VIA)
WITHOUT_CONNECTIONS = _of_shapes(INFO % b"", OTHER % b"")


class Scanner:
    """Finds the lines of a log that may tell something; connections: those on connections too."""

    def __init__(self, *, connections: bool = True) -> None:
        self._patterns = WITH_CONNECTIONS if connections else WITHOUT_CONNECTIONS
        self._known: set[bytes] = set()
        self._telling: set[bytes] = set()

    def lines(self, block: bytes) -> Iterator[bytes]:
        """The lines of a block that may tell something, in their order."""
        shapes = block.translate(TO_SHAPE).split(b"\n")
        telling = self._telling_among(set(shapes))
        if not telling:
            return
        raw = block.split(b"\n")
        for at in [place for place, shape in enumerate(shapes) if shape in telling]:
            yield raw[at][:LONGEST]
            below = at + 1
            if _goes_on(raw[at]) and below < len(raw) and shapes[below] not in telling:
                yield raw[below][:LONGEST]

    def _telling_among(self, shapes: set[bytes]) -> set[bytes]:
        """Those of some shapes whose lines may tell something."""
        new = shapes - self._known
        text = b"\n".join(new)
        telling = {_line(text, begin) for begin in _begins(self._patterns, text)}
        found = telling | (shapes & self._telling)
        if len(self._known) + len(new) > MOST_SHAPES:
            self._known.clear()
            self._telling.clear()
        short = {shape for shape in new if len(shape) <= LONGEST_SHAPE}
        if len(short) <= MOST_SHAPES:
            self._known |= short
            self._telling |= telling & short
        return found


def _goes_on(line: bytes) -> bool:
    """Whether a line may go on in the one below it."""
    return line.rstrip().endswith(LAST_ERROR) or (len(line) >= NARROW and b" WARN " in line)


def _begins(patterns: tuple[re.Pattern[bytes], ...], text: bytes) -> set[int]:
    """Where the lines begin in which one of some patterns is found."""
    begins = set()
    for pattern in patterns:
        end = 0
        while found := pattern.search(text, end):
            begins.add(text.rfind(b"\n", 0, found.start()) + 1)
            end = _end_of_line(text, found.end())
    return begins


def _line(text: bytes, begin: int) -> bytes:
    return text[begin : _end_of_line(text, begin)]


def _end_of_line(text: bytes, position: int) -> int:
    end = text.find(b"\n", position)
    return end if end >= 0 else len(text)
