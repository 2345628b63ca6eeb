# SPDX-License-Identifier: Apache-2.0
"""Text to Element and back, for NCCL's two XML formats; safe against hostile files.

No document type, entity or encoding other than UTF-8 is accepted, size, depth and count are limited, so neither bombs
nor file inclusion work. Writing follows the habits of NCCL's `ncclTopoDumpXmlRec`: two spaces per level, `"`,
no header. Comments and text between elements are not kept: NCCL's formats have none.
"""

import re
from typing import TYPE_CHECKING, cast

from railgauge.topo.errors import InputError
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.files.pasted_text import plain_text, without_prefixes
from railgauge.topo.xml.cut_off import closed
from railgauge.topo.xml.element import Element

if TYPE_CHECKING:
    from lxml import etree

MAX_BYTES = 16 << 20  # NCCL's own limit is 1024 nodes a rank, well under 1 MiB
MAX_DEPTH = 32  # system/cpu/pci.../nic/net: real machines stay below 10
MAX_ELEMENTS = 10_000  # the largest real machines have some hundred, and some steps take its square
MAX_VALUE = 4096  # bytes of an attribute: NCCL takes 253, and 8192 CPUs are an affinity of 2303
MAX_ATTRIBUTES = 256  # of one element; NCCL reads 16, and libxml2's time goes with the square
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
ENCODINGS = (b"utf-8", b"utf8", b"us-ascii", b"ascii")
ENCODING = re.compile(rb"<\?xml[^>]*\sencoding\s*=\s*[\"']([^\"'>]*)")
MORE_ATTRIBUTES = rb"<[^\s<>/=!?\"']++(?:\s*+[^\s<>/=\"']++\s*+=\s*+(?:\"[^\"<]*+\"|'[^'<]*+')){%d}" % (
    MAX_ATTRIBUTES + 1
)
PROLOG = re.compile(rb"(?:\s+|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)  # all that may precede a document type
INNER = re.compile(rb"<(?:cpu|pci|gpu|nic|net|channel)\b")
PIECE = 65_536
TOO_DEEP = "Excessive depth"
"""libxml2 looks before we do, where a whole PIECE goes down."""
NO_CHARACTERS = [*range(0x20), 0xFFFE, 0xFFFF]  # not allowed in XML 1.0; tabs and line ends excepted
ESCAPES = str.maketrans(
    dict.fromkeys(map(chr, NO_CHARACTERS), "\N{REPLACEMENT CHARACTER}")
    | {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)


def read_file(path: str, root: str) -> Element:
    """Read and parse a file whose outermost element must be `root`; InputError(path, line) otherwise."""
    return parse(read_bytes(path, MAX_BYTES), path, root)


def parse(data: bytes, path: str | None, root: str) -> Element:
    """Parse bytes whose outermost element must be `root`; InputError(path, line) otherwise."""
    _refuse_other_than_text(data, path)
    try:
        element = _Parsing(path).element(alone(data, root))
    except InputError as error:
        if b"<%s" % root.encode() not in data and INNER.search(data):
            raise InputError(f"its begin is missing: there is no <{root}>", path, error.line) from error
        raise
    if element.name != root:
        raise InputError(f"the outermost element is <{element.name}>, expected <{root}>", path, element.line)
    return element


def alone(data: bytes, root: str) -> bytes:
    """An element out of the text that it was pasted with, in its lines; the data as they are if they begin with it."""
    opening = re.compile(rb"<(?:%s[\s>]|!DOCTYPE)" % root.encode())
    whole = data.removeprefix(BYTE_ORDER_MARK)
    if (begin := PROLOG.match(whole)) and opening.match(whole, begin.end()):
        return data
    text = without_prefixes(plain_text(data)).encode()
    if (found := opening.search(text)) is None:
        return data
    closing = b"</%s>" % root.encode()
    end = text.rfind(closing, found.start())
    return b"\n" * text.count(b"\n", 0, found.start()) + text[found.start() : end + len(closing) if end > 0 else None]


def _refuse_other_than_text(data: bytes, path: str | None) -> None:
    if len(data) > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES >> 20} MiB", path, 1)
    if not data.strip():
        raise InputError("the file is empty", path, 1)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", path, _line_at(data, error.start)) from error
    if (nul := data.find(b"\0")) >= 0:
        raise InputError("has a NUL byte: not a text file", path, _line_at(data, nul))


def _line_at(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


class _Parsing:
    """One run of lxml over a file, fed piece by piece: elements are made as they close, and limits hold meanwhile."""

    def __init__(self, path: str | None) -> None:
        from lxml import etree

        self._path = path
        self._syntax_error = etree.XMLSyntaxError
        self._parser = etree.XMLPullParser(
            events=("start", "end"),
            encoding="utf-8",
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )
        self._children: list[list[Element]] = [[]]
        self._count = 0
        self._lines_before = 0

    def element(self, data: bytes) -> Element:
        """The outermost element. A byte order mark and white space before the XML header are skipped."""
        text = data.removeprefix(BYTE_ORDER_MARK).lstrip()
        self._lines_before = data.count(b"\n") - text.count(b"\n")
        self._refuse_declarations(text)
        if long := re.search(MORE_ATTRIBUTES, text):
            raise self._refuse(f"an element has more than {MAX_ATTRIBUTES} attributes", _line_at(text, long.start()))
        try:
            for start in range(0, len(text), PIECE):
                self._parser.feed(text[start : start + PIECE])
                self._take_events()
            self._parser.close()
        except self._syntax_error as error:
            first = next(iter(self._parser.feed_error_log), None)  # the exception itself may be about a later one
            reason, line = (first.message, first.line) if first else (error.msg, error.lineno)
            if TOO_DEEP in (reason or ""):
                raise self._refuse(f"nested deeper than {MAX_DEPTH} elements", line) from error
            cut = (line or 0) > text.rstrip().count(b"\n") and closed(text) is not None
            raise self._refuse(f"{'the file breaks off' if cut else 'not well-formed XML'}: {reason}", line) from error
        return self._children[0][0]

    def _refuse(self, reason: str, line: object) -> InputError:
        return InputError(reason, self._path, self._line(line))

    def _line(self, line: object) -> int:
        """The line in the file, from lxml's line number, which counts from where it began."""
        return self._lines_before + (line if isinstance(line, int) and line > 0 else 1)

    def _refuse_declarations(self, text: bytes) -> None:
        """Refuse document types and headers that name another encoding."""
        declared = ENCODING.match(text)
        if declared and declared[1].lower() not in ENCODINGS:
            raise self._refuse(f"encoding {declared[1].decode()[:40]!r} is not UTF-8", 1)
        prolog = PROLOG.match(text)
        if prolog and text.startswith(b"<!DOCTYPE", prolog.end()):
            raise self._refuse("document types and entities are not accepted", _line_at(text, prolog.end()))

    def _take_events(self) -> None:
        for event, node in self._parser.read_events():
            (self._open if event == "start" else self._close)(cast("etree._Element", node))

    def _open(self, node: "etree._Element") -> None:
        self._count += 1
        if len(self._children) > MAX_DEPTH:
            raise self._refuse(f"nested deeper than {MAX_DEPTH} elements", node.sourceline)
        if self._count > MAX_ELEMENTS:
            raise self._refuse(f"more than {MAX_ELEMENTS} elements", node.sourceline)
        if named := next((name for name in (node.tag, *node.attrib) if str(name).startswith("{")), None):
            raise self._refuse(f"{str(named)[:80]!r} has a namespace, which these files do not use", node.sourceline)
        if long := next((name for name, value in node.attrib.items() if len(value) > MAX_VALUE), None):
            where = f"<{str(node.tag)[:40]}> {str(long)[:40]}"
            raise self._refuse(
                f"{where} is longer than {MAX_VALUE} characters: NCCL takes 253",
                node.sourceline,
            )
        self._children.append([])

    def _close(self, node: "etree._Element") -> None:
        children = tuple(self._children.pop())
        pairs = tuple((str(key), str(value)) for key, value in node.attrib.items())
        self._children[-1].append(
            Element(name=str(node.tag), attributes=pairs, children=children, line=self._line(node.sourceline))
        )


def write(element: Element) -> str:
    """The element as text in NCCL's layout, ending with a newline."""
    out: list[str] = []
    _write_one(element, 0, out)
    return "".join(out)


def _write_one(element: Element, level: int, out: list[str]) -> None:
    pad = "  " * level
    attributes = "".join(f' {key}="{value.translate(ESCAPES)}"' for key, value in element.attributes)
    if not element.children:
        out.append(f"{pad}<{element.name}{attributes}/>\n")
        return
    out.append(f"{pad}<{element.name}{attributes}>\n")
    for child in element.children:
        _write_one(child, level + 1, out)
    out.append(f"{pad}</{element.name}>\n")
