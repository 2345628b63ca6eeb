# SPDX-License-Identifier: Apache-2.0
"""Reads the files of a fabric: each in one of the known forms, which its content shows; a folder has several."""

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter

from railgauge.topo.errors import InputError
from railgauge.topo.fabric.model import FabricMap
from railgauge.topo.fabric.parts import FabricParts
from railgauge.topo.fabric.sources import (
    clouds,
    forwarding,
    iblinkinfo,
    ibnetdiscover,
    ibnetdiscover_ports,
    lldp,
    port_errors,
    slurm,
    subnet_lst,
    topology_yaml,
)
from railgauge.topo.files.input_file import blocks
from railgauge.topo.files.lines import whole_lines

HEAD = 1 << 18
"""Bytes of a file in which its form shows."""
READERS = (
    ibnetdiscover,
    subnet_lst,
    ibnetdiscover_ports,
    iblinkinfo,
    lldp,
    slurm,
    topology_yaml,
    clouds,
    forwarding,
    port_errors,
)
"""In the order in which files are read: those that know node and port GUIDs first, those that name LIDs last."""
FORMS = (
    "ibnetdiscover, iblinkinfo, dump_fts, opensm-subnet.lst, ibqueryerrors, perfquery, lldpctl -f json, SONiC's LLDP "
    "table, topology.conf and topology.yaml of Slurm, scontrol show topology, instance topology of AWS and OCI"
)
TREES = (slurm, topology_yaml, clouds)
"""Those that have places of nodes, and no cables."""
MOST_FILES = 20_000
ARCHIVES = (".tar.zst", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar")


def read_fabric(paths: Sequence[str]) -> FabricMap:
    """The fabric that some files and folders describe together.

    Raises:
        InputError: a file is unreadable or of no known form, two files contradict each other, or nothing is in them.
    """
    parts = FabricParts()
    known: list[tuple[int, str, Iterator[bytes]]] = []
    for path, named in _files(paths):
        head, data = _head(path)
        place = next((place for place, reader in enumerate(READERS) if reader.MARK.search(head)), None)
        if place is not None:
            known.append((place, path, data))
        elif named:
            raise InputError(f"no file of a fabric; known are {FORMS}", path)
    parts.is_tree = all(READERS[place] in TREES for place, _, _ in known)
    for place, path, data in sorted(known, key=itemgetter(0)):
        parts.path = path
        parts.sources.append(path)
        READERS[place].read(data, parts)
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
