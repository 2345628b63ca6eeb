# SPDX-License-Identifier: Apache-2.0
"""The members of a tar archive in memory: files, links and folders, and nothing else.

The standard library reads; what could mislead (hard links, devices, sparse files, names that lead out or come twice)
or is damaged is refused here with its name.
"""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from railgauge.topo.errors import InputError

if TYPE_CHECKING:
    from tarfile import TarFile, TarInfo

END = bytes(512)  # POSIX 1003.1: two blocks of zeros end an archive; what follows does not count
MAX_MEMBERS = 100_000
MAX_NAME = 4096  # PATH_MAX
MAX_EXTENSION = 64 << 10  # characters of a member's pax headers
FILE, LINK, FOLDER = "file", "link", "folder"
REFUSED = {b"1": "a hard link", b"3": "a device", b"4": "a device", b"6": "a pipe", b"S": "a sparse file"}


class Member(NamedTuple):
    """One member: its name without leading "./" and trailing "/", and a file's bytes or a link's target."""

    name: str
    kind: str
    content: bytes
    target: str


def read_members(tar: bytes, path: str) -> Iterator[Member]:
    """All members in order; InputError naming the one that is damaged, hostile or too much. `path` stands in errors."""
    import tarfile

    seen: set[str] = set()
    try:
        with tarfile.open(fileobj=io.BytesIO(tar), mode="r:", errors="replace") as archive:
            for entry in archive:
                member = _member(tar, entry, path)
                if member.name in seen and member.kind != FOLDER:
                    raise InputError(f"member {member.name[:80]!r} is there twice", path)
                seen.add(member.name)
                if len(seen) > MAX_MEMBERS:
                    raise InputError(f"more than {MAX_MEMBERS} members", path)
                yield member
            _check_end(tar, archive, path)
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"damaged: {error}", path) from error


def _check_end(tar: bytes, archive: "TarFile", path: str) -> None:
    """Tell an archive that ends from one that is cut or damaged there, which the library takes for an end too."""
    if tar[archive.offset : archive.offset + len(END)] != END:
        what = "a damaged header" if len(tar) >= archive.offset + len(END) else "cut off"
        raise InputError(f"damaged: {what} at byte {archive.offset}", path)


def _member(tar: bytes, entry: "TarInfo", path: str) -> Member:
    kind = FILE if entry.isreg() else LINK if entry.issym() else FOLDER if entry.isdir() else None
    if kind is None or entry.issparse():
        what = REFUSED.get(b"S" if entry.issparse() else entry.type, "neither file, link nor folder")
        raise InputError(f"member {entry.name[:80]!r} is {what}", path)
    if sum(map(len, entry.pax_headers.values())) > MAX_EXTENSION:
        raise InputError(f"member {entry.name[:80]!r} has headers of more than {MAX_EXTENSION} characters", path)
    content = tar[entry.offset_data : entry.offset_data + entry.size] if kind == FILE else b""
    return Member(_name(entry.name, path), kind, content, entry.linkname)


def _name(name: str, path: str) -> str:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts:
        raise InputError(f"member {name[:80]!r} leads outside the archive", path)
    if len(name) > MAX_NAME or "\0" in name:
        raise InputError(f"member {name[:80]!r} has no possible name", path)
    return "/".join(parts)
