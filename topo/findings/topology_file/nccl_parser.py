# SPDX-License-Identifier: Apache-2.0
"""Where NCCL's own XML parser fails on a file that is valid XML.

NCCL reads with a small parser of its own (src/graph/xml.cc: `xmlGetNode`, `xmlGetToken`, `xmlGetValue`,
`xmlSkipComment`, `xmlLoadSub`), character by character. What it requires beyond XML:

- between elements only spaces, line feeds and carriage returns: no tab, no text, no `<?xml ...?>`, no byte order mark;
- one space before each attribute and nothing around `=`; no line break within a tag;
- names and values of at most 253 bytes, at most 16 attributes (two spaces count as one more), no entities;
- `"` around values: older releases (2.21) read past a closing `'`;
- fewer than 256 elements: its table must not be full when anything follows, be it the last closing tag
  (NCCL_TOPO_XML_MAX_NODES, since 2.21; 1024 before), and at most 128 in one (MAX_SUBS, 640 in the newest releases).

Releases to 2.30 also fuse the trees of all ranks of a host in a table of 256 (NVIDIA/nccl issue 2160).
tests/topo/nccl_topo_file.json holds what NCCL 2.28.9 itself answered to some of these.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.topo.nccl.detect.topo_file import HOLDS, MOST_ATTRIBUTES
from railgauge.topo.xml.text import BYTE_ORDER_MARK

LONGEST = 254  # MAX_STR_LEN - 1: the parser fails beyond it, terminator included
MOST_CHILDREN = 128
BLANK = b" \n\r"
ENDS_TOKEN = b" >/\n\r"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """A kind of file: the outermost element, which elements NCCL knows in which, and its table's size."""

    root: str
    holds: Mapping[str, tuple[str, ...]]
    most_elements: int


TOPOLOGY = FileFormat(root="system", holds=HOLDS, most_elements=256)
GRAPHS = FileFormat(
    root="graphs",
    holds={"graphs": ("graph",), "graph": ("channel",), "channel": ("net", "gpu")},
    most_elements=4096,  # NCCL_GRAPH_XML_MAX_NODES; 65536 in the newest releases
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stumble:
    """What NCCL reads differently from XML, and its line; `fatal` if it rejects the whole file."""

    line: int
    what: str
    fatal: bool


class _Refused(Exception):
    """The parser fails here."""


@dataclass(slots=True)
class _Open:
    """An open element; `holds`: the children that NCCL knows there, None in one it skips."""

    holds: tuple[str, ...] | None
    children: int = 0


def stumbles(data: bytes, file_format: FileFormat = TOPOLOGY) -> tuple[Stumble, ...]:
    """Where the parser reads the file differently from XML; the last one is fatal if it fails."""
    scanner = _Scanner(data, file_format)
    try:
        while scanner.element():
            pass
    except _Refused as refused:
        scanner.note(str(refused), fatal=True)
    return tuple(scanner.noted)


class _Scanner:
    """Reads elements, closing tags and comments one by one, as `xmlGetNode` does."""

    def __init__(self, data: bytes, file_format: FileFormat) -> None:
        self.data = data
        self.format = file_format
        self.at = 0
        self.noted: list[Stumble] = []
        self.open = [_Open((file_format.root,))]
        self.elements = 0

    def note(self, what: str, *, fatal: bool = False) -> None:
        """Record a difference at the present place; each kind once."""
        if fatal or all(stumble.what != what for stumble in self.noted):
            line = self.data.count(b"\n", 0, max(self.at - 1, 0)) + 1
            self.noted.append(Stumble(line=line, what=what, fatal=fatal))

    def element(self) -> bool:
        """Read one; False at the end of the file."""
        most = self.format.most_elements
        if self.elements == most:
            raise _Refused(f"the {most}th element: XML parser is limited to {most} nodes, the end included")
        while self.at < len(self.data) and self.data[self.at] in BLANK:
            self.at += 1
        if self.at == len(self.data):
            if len(self.open) > 1:
                raise _Refused("the file ends before its elements are closed")
            return False
        self._tag()
        return True

    def _tag(self) -> None:
        first = self._byte()
        if first != b"<":
            raise _Refused(f"{self._here()} between elements, where only spaces and line breaks are allowed")
        name, last = self._token(value=False)
        if name.startswith(b"?"):
            raise _Refused("an XML header or processing instruction (<?...?>)")
        if name.startswith(b"!--"):
            self._comment(name[3:] + last)
        elif not name and last == b"/":
            self._closing()
        else:
            self._opening(name.decode(errors="replace"), last)

    def _byte(self) -> bytes:
        self.at += 1
        if self.at > len(self.data):
            raise _Refused("the file ends within a tag")
        return self.data[self.at - 1 : self.at]

    def _here(self) -> str:
        """The character that starts with the last byte."""
        return _shown(self.data[self.at - 1 : self.at + 3].decode(errors="ignore")[:1].encode())

    def _token(self, *, value: bool) -> tuple[bytes, bytes]:
        """A name and the byte that ended it; `value`: it may be an attribute, whose value is skipped."""
        name = b""
        while (byte := self._byte()) != b"=":
            if len(name) == LONGEST:
                raise _Refused(f"a name is longer than {LONGEST - 1} bytes")
            if byte in ENDS_TOKEN:
                return name, byte
            name += byte
        if not value:
            raise _Refused(f"'=' follows {_shown(name)}: maybe a tab or line break before the attribute")
        return name, self._value()

    def _value(self) -> bytes:
        """Skip a quoted value; returns the byte after it."""
        quote = self._byte()
        if quote not in (b'"', b"'"):
            raise _Refused(f"{self._here()} after '=', where a quote is required")
        if quote == b"'":
            self.note("single quotes around a value: older releases (2.21) read on to the next double quote")
        end = self.data.find(quote, self.at)
        length = (end if end >= 0 else len(self.data)) - self.at
        if length >= LONGEST:
            raise _Refused(f"a value is longer than {LONGEST - 1} bytes")
        if b"&" in self.data[self.at : self.at + length]:
            self.note("an entity in a value: NCCL does not decode it")
        self.at += length + 1
        return self._byte()

    def _comment(self, start: bytes) -> None:
        """Skip a comment whose beginning was read as a name."""
        if (b"..." + start).endswith(b"-->"):
            return
        end = self.data.find(b"-->", self.at)
        if end < 0:
            raise _Refused("a comment does not end")
        self.at = end + 3

    def _closing(self) -> None:
        name, last = self._token(value=False)
        if last != b">":
            raise _Refused(f"{_shown(last)} follows the name in </{name.decode(errors='replace')}>")
        if len(self.open) > 1:
            self.open.pop()

    def _opening(self, name: str, last: bytes) -> None:
        ignored: list[bytes] = []
        count = 0
        while last == b" ":
            key, last = self._token(value=True)
            count += 1
            ignored += [key] if count > MOST_ATTRIBUTES and key else []
        if ignored:
            keys = b", ".join(ignored).decode(errors="replace")
            self.note(f"attributes after the {MOST_ATTRIBUTES}th of an element are ignored: {keys}")
        single = last == b"/"
        if single:
            _, last = self._token(value=False)
        if last != b">":
            raise _Refused(f"{self._here()} in a tag, where one space, '/' or '>' is required")
        self._enter(name, single)

    def _enter(self, name: str, single: bool) -> None:
        """Count an element that NCCL knows at this place; it skips others and their children."""
        around = self.open[-1]
        known = around.holds is not None and name in around.holds
        if known:
            if around.children == MOST_CHILDREN:
                raise _Refused(
                    f"the {MOST_CHILDREN + 1}th element in one: XML parser is limited to {MOST_CHILDREN} subnodes"
                )
            around.children += 1
            self.elements += 1
        if not single:
            self.open.append(_Open(self.format.holds.get(name, ()) if known else None))


def _shown(text: bytes) -> str:
    names = {b"\t": "a tab", b"\n": "a line break", b"\r": "a carriage return", BYTE_ORDER_MARK: "a byte order mark"}
    return names.get(text) or repr(text.decode(errors="replace"))
