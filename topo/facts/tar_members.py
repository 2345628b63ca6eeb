# SPDX-License-Identifier: Apache-2.0
"""The members of a tar archive in memory: files, links and folders, and nothing else.

Misleading members (hard links, devices, sparse files, names that lead out or repeat) and damaged ones are refused by
name. Read are ustar and pax (POSIX.1-2017, pax, "ustar Interchange Format") and GNU tar's long names. Nodes of
a cluster have nearly all headers in common, so what was read is kept: tarfile takes 50 ms for a capture, this 5 and
then 2.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from railgauge.topo.errors import InputError

BLOCK = 512
END = bytes(BLOCK)  # two of them end an archive; what follows does not count
MAX_MEMBERS = 100_000
MAX_NAME = 4096  # PATH_MAX
MAX_EXTENSION = 16 << 10  # bytes of a member's extended headers: two names and more
KEPT = 1 << 12  # headers; a node of a cluster has 2,000, and hostile ones take 64 MiB
FILE, LINK, FOLDER = "file", "link", "folder"
KINDS = {b"0": FILE, b"\0": FILE, b"7": FILE, b"2": LINK, b"5": FOLDER}
REFUSED = {b"1": "a hard link", b"3": "a device", b"4": "a device", b"6": "a pipe", b"S": "a sparse file"}
PAX, PAX_FOR_ALL, LONG_NAME, LONG_TARGET = EXTENSIONS = (b"x", b"g", b"L", b"K")
SPARSE = "GNU.sparse."


class TarMember(NamedTuple):
    """One member: its name without leading "./" and trailing "/", and a file's bytes or a link's target."""

    name: str
    kind: str
    content: bytes
    target: str


class _Header(NamedTuple):
    """What a header block says; `size` is that of the content, in bytes."""

    name: str
    flag: bytes
    size: int
    target: str


def read_members(tar: bytes, path: str) -> Iterator[TarMember]:
    """All members in order; InputError naming the one that is damaged, hostile or too much. `path` stands in errors."""
    seen: set[str] = set()
    for header, content in _entries(tar, path):
        kind = KINDS.get(header.flag)
        if kind is None:
            what = REFUSED.get(header.flag, "neither file, link nor folder")
            raise InputError(f"member {header.name[:80]!r} is {what}", path)
        try:
            name = _plain(header.name)
        except ValueError as error:
            raise InputError(f"member {header.name[:80]!r} {error}", path) from error
        member = TarMember(name, kind, content if kind == FILE else b"", header.target)
        if member.name in seen and kind != FOLDER:
            raise InputError(f"member {member.name[:80]!r} is there twice", path)
        seen.add(member.name)
        if len(seen) > MAX_MEMBERS:
            raise InputError(f"more than {MAX_MEMBERS} members", path)
        yield member


def _entries(tar: bytes, path: str) -> Iterator[tuple[_Header, bytes]]:
    """Each header with its content; what extended headers say of it is in it."""
    at, for_all, for_next = 0, dict[str, str](), dict[str, str]()
    while (block := tar[at : at + BLOCK]) != END:
        try:
            header = _header(block)
            is_extension = header.flag in EXTENSIONS
            if not is_extension and (for_next or for_all):
                header, for_next = _extended(header, tuple((for_all | for_next).items())), {}
            end = at + BLOCK + header.size
            if end > len(tar):
                raise ValueError("cut off")
            content = tar[at + BLOCK : end]
            if header.flag == PAX_FOR_ALL:
                for_all |= _extension(header, content)
            elif is_extension:
                for_next |= _extension(header, content)
            else:
                yield header, content
        except ValueError as error:
            raise InputError(f"damaged: {error}: a damaged header at byte {at}", path) from error
        at += BLOCK + -(-header.size // BLOCK) * BLOCK


@lru_cache(KEPT)
def _header(block: bytes) -> _Header:
    """A header block; ValueError when it is none."""
    if len(block) < BLOCK:
        raise ValueError("cut off")
    if _number(block[148:156]) != sum(block) - sum(block[148:156]) + 8 * 32:  # the checksum counts as spaces
        raise ValueError("bad checksum")
    name, flag = _text(block[:100]), block[156:157]
    if block[257:263] == b"ustar\0" and (prefix := _text(block[345:500])):
        name = f"{prefix}/{name}"
    if name.endswith("/") and flag == b"\0":  # as archives from before POSIX have it
        flag = b"5"
    return _Header(name, flag, _number(block[124:136]), _text(block[157:257]))


@lru_cache(KEPT)
def _extended(header: _Header, records: tuple[tuple[str, str], ...]) -> _Header:
    """The header with the records of extended headers applied."""
    said = dict(records)
    if any(key.startswith(SPARSE) for key in said):
        return header._replace(flag=b"S")
    size = said.get("size", "")
    return header._replace(
        name=said.get("path", header.name),
        target=said.get("linkpath", header.target),
        size=int(size) if size.isdecimal() else header.size,
    )


def _extension(header: _Header, content: bytes) -> Mapping[str, str]:
    """What an extended header says of the members after it, by pax's keywords."""
    if len(content) > MAX_EXTENSION:
        raise ValueError(f"{header.name[:80]!r} has headers of more than {MAX_EXTENSION} bytes")
    if header.flag in (LONG_NAME, LONG_TARGET):
        return {"path" if header.flag == LONG_NAME else "linkpath": _text(content)}
    return _records(content)


@lru_cache(KEPT)
def _records(content: bytes) -> Mapping[str, str]:
    """Records of pax, "LENGTH KEY=VALUE" and a line's end; ValueError for others."""
    found, at = dict[str, str](), 0
    while at < len(content):
        digits = content[at : at + 20].partition(b" ")[0]
        end = at + int(digits) if digits.isdigit() else at
        key, sign, value = content[at + len(digits) + 1 : end - 1].partition(b"=")
        if not (at < end <= len(content) and sign and content[end - 1 : end] == b"\n"):
            raise ValueError("bad pax record")
        found[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        at = end
    return found


def _number(field: bytes) -> int:
    """A number in octal digits or, of GNU tar, in base 256."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.partition(b"\0")[0].strip()
    if digits.strip(b"01234567"):
        raise ValueError("bad number")
    return int(digits or b"0", 8)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")


@lru_cache(KEPT)
def _plain(name: str) -> str:
    """The name below the archive's root; ValueError for one that leads elsewhere."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts:
        raise ValueError("leads outside the archive")
    if len(name) > MAX_NAME or "\0" in name:
        raise ValueError("has an invalid name")
    return "/".join(parts)
