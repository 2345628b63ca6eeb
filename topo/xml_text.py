# SPDX-License-Identifier: Apache-2.0
"""Text to Element and back, for NCCL's two XML formats; safe against hostile files.

No document type, entity or encoding other than UTF-8 is accepted, size, depth and count are limited, so neither a bomb
nor a file inclusion gets anywhere. Writing follows the habits of NCCL's `ncclTopoDumpXmlRec`: two spaces a level, `"`,
no header.
"""

import re

from railgauge.topo.element import Element
from railgauge.topo.errors import InputError
from railgauge.topo.input_file import read_bytes

MAX_BYTES = 16 << 20  # NCCL's own limit is 256 nodes a rank, well under 1 MiB
MAX_DEPTH = 32  # system/cpu/pci.../nic/net: real machines stay below 10
MAX_ELEMENTS = 10_000  # the largest real machines have some hundred, and some steps take its square
FORBIDDEN = re.compile(rb"<!\s*(DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)|<\?xml-stylesheet", re.IGNORECASE)
ENCODING = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']([^\"'>]*)")


def read_file(path: str, root: str) -> Element:
    """Read and parse a file whose outermost element must be `root`; InputError(path, line) otherwise."""
    return parse(read_bytes(path, MAX_BYTES), path, root)


def parse(data: bytes, path: str | None, root: str) -> Element:
    """Parse bytes whose outermost element must be `root`; InputError(path, line) otherwise."""
    _refuse_unsafe(data, path)
    element = _convert(_syntax_tree(data, path), path)
    if element.name != root:
        raise InputError(f"the outermost element is <{element.name}>, wanted <{root}>", path, element.line)
    return element


def _refuse_unsafe(data: bytes, path: str | None) -> None:
    if len(data) > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES >> 20} MiB", path, 1)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", path, _line_at(data, error.start)) from error
    if (nul := data.find(b"\0")) >= 0:
        raise InputError("holds a NUL byte: not a text file", path, _line_at(data, nul))
    if found := FORBIDDEN.search(data):
        raise InputError("document types and entities are not accepted", path, _line_at(data, found.start()))
    declared = ENCODING.search(data)
    if declared and declared[1].lower() not in (b"utf-8", b"utf8", b"us-ascii", b"ascii"):
        raise InputError(f"encoding {declared[1].decode()!r} is not UTF-8", path, 1)


def _line_at(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _syntax_tree(data: bytes, path: str | None) -> "object":
    from lxml import etree

    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise InputError(f"not well-formed XML: {error.msg}", path, max(error.lineno or 1, 1)) from error
    except ValueError as error:
        raise InputError(f"not well-formed XML: {error}", path, 1) from error


def _convert(top: "object", path: str | None) -> Element:
    budget = [MAX_ELEMENTS]
    return _convert_one(top, path, 1, budget)


def _convert_one(node: "object", path: str | None, depth: int, budget: list[int]) -> Element:
    line = int(getattr(node, "sourceline", None) or 1)
    budget[0] -= 1
    if depth > MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH} elements", path, line)
    if budget[0] < 0:
        raise InputError(f"more than {MAX_ELEMENTS} elements", path, line)
    tag, attributes = getattr(node, "tag", None), getattr(node, "attrib", {})
    if not isinstance(tag, str):
        raise InputError("holds an unresolved entity", path, line)
    if named := next((name for name in (tag, *map(str, attributes)) if name.startswith("{")), None):
        raise InputError(f"{named[:80]!r} is of a namespace: these files have none", path, line)
    return Element(
        name=tag,
        attributes=tuple((str(key), str(value)) for key, value in attributes.items()),
        children=tuple(_convert_one(child, path, depth + 1, budget) for child in node),  # type: ignore[attr-defined]
        line=line,
    )


def write(element: Element) -> str:
    """The element as text in NCCL's layout, ending with a newline."""
    out: list[str] = []
    _write_one(element, 0, out)
    return "".join(out)


def _write_one(element: Element, level: int, out: list[str]) -> None:
    pad = "  " * level
    attributes = "".join(f' {key}="{_escape(value)}"' for key, value in element.attributes)
    if not element.children:
        out.append(f"{pad}<{element.name}{attributes}/>\n")
        return
    out.append(f"{pad}<{element.name}{attributes}>\n")
    for child in element.children:
        _write_one(child, level + 1, out)
    out.append(f"{pad}</{element.name}>\n")


def _escape(text: str) -> str:
    for plain, escaped in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ('"', "&quot;"),
        ("\n", "&#10;"),
        ("\t", "&#9;"),
    ):
        text = text.replace(plain, escaped)
    return text
