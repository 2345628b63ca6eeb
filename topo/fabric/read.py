# SPDX-License-Identifier: Apache-2.0
"""Reads the files of a fabric: each in one of the known forms, which its content shows; a folder has several."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from railgauge.topo.errors import InputError
from railgauge.topo.fabric.model import FabricMap
from railgauge.topo.fabric.parts import FabricParts
from railgauge.topo.fabric.sources import (
    forwarding,
    iblinkinfo,
    ibnetdiscover,
    ibnetdiscover_ports,
    port_errors,
    subnet_lst,
)
from railgauge.topo.files.input_file import blocks
from railgauge.topo.files.lines import whole_lines

HEAD = 1 << 18
"""Bytes of a file in which its form shows."""
BY_LINES = (ibnetdiscover, ibnetdiscover_ports, subnet_lst, iblinkinfo)
LATER = (port_errors,)
"""Forms that name devices by LID, which the others make known."""
FORMS = "ibnetdiscover, iblinkinfo, dump_fts, opensm-subnet.lst, ibqueryerrors, perfquery"
MOST_FILES = 20_000
ARCHIVES = (".tar.zst", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar")


def read_fabric(paths: Sequence[str]) -> FabricMap:
    """The fabric that some files and folders describe together.

    Raises:
        InputError: a file is unreadable or of no known form, two files contradict each other, or nothing is in them.
    """
    parts = FabricParts()
    later: list[tuple[str, Callable[[Iterable[str], FabricParts], None], Iterator[bytes]]] = []
    for path, named in _files(paths):
        parts.path = path
        head, data = _head(path)
        if forwarding.MARK.search(head):
            forwarding.read(data, parts)
        elif form := next((one for one in BY_LINES if one.MARK.search(head)), None):
            form.read(_lines(data), parts)
        elif form := next((one for one in LATER if one.MARK.search(head)), None):
            later.append((path, form.read, data))
        elif named:
            raise InputError(f"no file of a fabric; known are {FORMS}", path)
        else:
            continue
        parts.sources.append(path)
    for path, read, data in later:
        parts.path = path
        read(_lines(data), parts)
    parts.path = ", ".join(paths)
    return parts.whole()


def _files(paths: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The files, and whether each was named itself rather than by its folder."""
    for path in paths:
        if not os.path.isdir(path):
            yield path, True
            continue
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry in entries if entry.is_file() and not entry.name.startswith("."))
        for name in names[:MOST_FILES]:
            if not name.endswith(ARCHIVES):
                yield os.path.join(path, name), False


def _head(path: str) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes of a file, and all of it in blocks of whole lines."""
    found = whole_lines(blocks(path))
    first: list[bytes] = []
    while sum(map(len, first)) < HEAD and (block := next(found, None)) is not None:
        first.append(block)
    return b"".join(first), chain(first, found)


def _lines(data: Iterable[bytes]) -> Iterator[str]:
    for block in data:
        yield from block.decode("utf-8", "replace").splitlines()
