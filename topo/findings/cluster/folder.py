# SPDX-License-Identifier: Apache-2.0
"""A folder with a file for each node, NODE.tar.zst or NODE.xml, read by one process per core.

Equal attributes become one object, which later steps examine once.
"""

import gc
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from railgauge.topo.errors import Error, InputError, UnavailableError, described
from railgauge.topo.facts.named_source import is_xml
from railgauge.topo.findings.cluster.node import ClusterNode, Look, Sheet, read_node
from railgauge.topo.values.number import natural
from railgauge.topo.values.printable import MARK

CAPTURES = (".tar.zst", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar")
TOPOLOGY = ".xml"
ENDINGS = (*CAPTURES, TOPOLOGY)
"""Of several files for one node the first of these counts."""
CHUNK = 25
"""Files per chunk of a process; fewer than two chunks are read in this process."""
GARBAGE_PASS = 100_000
"""Allocations between two garbage collections of a reading process: a capture has some ten thousand live objects."""
BEGINNING = 4096
"""Bytes that tell NCCL's XML from hwloc's."""
NodeFile = tuple[str, str]
"""The node's name, and the file's path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A node that could not be read, and why. error: of railgauge itself, "" if the file is at fault."""

    name: str
    reason: str
    error: str = ""


def is_cluster(path: str) -> bool:
    """Whether a path is such a folder, and not a machine: it has a capture, or topology files alone."""
    try:
        names = [entry.name for entry in os.scandir(path) if entry.is_file() and not entry.name.startswith(".")]
    except OSError:
        return False
    if any(name.endswith(CAPTURES) for name in names):
        return True
    return bool(names) and all(name.endswith(TOPOLOGY) and _is_topology(os.path.join(path, name)) for name in names)


def _is_topology(path: str) -> bool:
    """Whether a file is NCCL's XML and not hwloc's, by its beginning."""
    try:
        with open(path, "rb") as file:
            return is_xml(file.read(BEGINNING))
    except OSError:
        return False


def node_files(folder: str) -> tuple[NodeFile, ...]:
    """The file of each node in a folder, by the nodes' names. InputError if there is none."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith("."))
    except OSError as error:
        why = f"cannot read it: {error.strerror or error}"
        if folder.startswith("@"):
            why = f"one machine, not a folder of captures: railgauge check --from {folder}"
        raise InputError(why, folder) from error
    found: dict[str, str] = {}
    for ending in ENDINGS:
        for name in names:
            if name.endswith(ending):
                found.setdefault(name.removesuffix(ending), os.path.join(folder, name))
    if not found:
        raise InputError(f"holds no file of a node (NODE{' or NODE'.join((CAPTURES[0], TOPOLOGY))})", folder)
    return tuple(sorted(((_shown(name), path) for name, path in found.items()), key=lambda pair: natural(pair[0])))


def _shown(name: str) -> str:
    """A file's name, which may be any bytes, made printable."""
    return "".join(char if char.isprintable() else MARK for char in name)


def read_files(
    files: Sequence[NodeFile], on_read: Callable[[Sequence[str]], None], look: Look | None = None
) -> tuple[list[ClusterNode], list[Unread]]:
    """Read all nodes; `on_read` gets the names of each chunk. UnavailableError if a reading process was killed.

    look: called for each node, in the process that reads it.
    """
    with_topology = any(path.endswith(TOPOLOGY) for _, path in files)
    nodes: list[ClusterNode] = []
    unread: list[Unread] = []
    sheets: dict[str, Sheet] = {}
    for chunk in _chunks(files, with_topology, look):
        for one in chunk.nodes:
            if isinstance(one, Unread):
                unread.append(one)
            else:
                nodes.append(one.restored(sheets, chunk.sheets))
        on_read(chunk.names)
    return nodes, unread


@dataclass(frozen=True, slots=True)
class _Packed:
    """A node from another process: digests in place of its attributes."""

    node: ClusterNode
    sheet: str
    topology: str

    def restored(self, known: dict[str, Sheet], told: dict[str, Sheet]) -> ClusterNode:
        """The node with its attributes: known ones by digest, otherwise those sent along."""
        sheet, topology = (known.setdefault(key, told[key]) if key else None for key in (self.sheet, self.topology))
        return replace(self.node, sheet=sheet, topology=topology)


@dataclass(frozen=True, slots=True)
class _Chunk:
    nodes: list[_Packed | Unread]
    sheets: dict[str, Sheet]

    @property
    def names(self) -> list[str]:
        """The nodes by name."""
        return [one.name if isinstance(one, Unread) else one.node.name for one in self.nodes]


def _chunks(files: Sequence[NodeFile], with_topology: bool, look: Look | None) -> Iterator[_Chunk]:
    read = partial(_read_chunk, with_topology=with_topology, look=look)
    chunks = [files[start : start + CHUNK] for start in range(0, len(files), CHUNK)]
    workers = min(len(os.sched_getaffinity(0)), len(chunks))
    if workers < 2:
        yield from map(read, chunks)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    spawn = get_context("spawn")  # a fork would inherit the locks of this process' threads
    with ProcessPoolExecutor(workers, spawn, gc.set_threshold, (GARBAGE_PASS,)) as pool:
        try:
            yield from pool.map(read, chunks)
        except BrokenProcessPool as error:
            raise UnavailableError("a process that read captures was killed: is there enough memory?") from error


def _read_chunk(files: Sequence[NodeFile], *, with_topology: bool, look: Look | None) -> _Chunk:
    sheets: dict[str, Sheet] = {}
    return _Chunk([_read(name, path, with_topology, look, sheets) for name, path in files], sheets)


def _read(name: str, path: str, with_topology: bool, look: Look | None, sheets: dict[str, Sheet]) -> _Packed | Unread:
    try:
        node = read_node(name, path, with_topology=with_topology, look=look)
    except Error as error:
        return Unread(name=name, reason=_reason(error, path))
    except Exception as error:  # of railgauge itself: the other nodes are examined all the same
        return Unread(name=name, reason=described(error), error=described(error))
    keys = ["" if sheet is None else _digest(sheet) for sheet in (node.sheet, node.topology)]
    sheets |= {key: sheet for key, sheet in zip(keys, (node.sheet, node.topology), strict=True) if sheet is not None}
    return _Packed(replace(node, sheet=None, topology=None), *keys)


def _reason(error: Error, path: str) -> str:
    """The error of a file without its path, so that equal reasons fold."""
    line = error.line if isinstance(error, InputError) else None
    said = str(error)
    return f"line {line}: {said.removeprefix(f'{path}:{line}: ')}" if line else said.removeprefix(f"{path}: ")


def _digest(sheet: Sheet) -> str:
    return hashlib.blake2b(repr(sheet).encode("utf-8", "replace"), digest_size=20).hexdigest()
