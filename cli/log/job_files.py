# SPDX-License-Identifier: Apache-2.0
"""The files that a job left, sorted by content: logs, and what is not one."""

import itertools
import os
import re
from collections.abc import Iterable, Iterator

from railgauge.cli.streams import tell
from railgauge.topo.errors import InputError
from railgauge.topo.files.archive_members import members
from railgauge.topo.files.compression import is_archive
from railgauge.topo.files.input_file import blocks
from railgauge.topo.jobs.recordings.magic import is_recording

RECORD = re.compile(rb'\s*\{\s*"schema"')
XML = re.compile(rb"\s*<(?:\?xml|system|graphs|topology)\b")
PICKLE = re.compile(rb"\x80[\x02-\x05]")
ENOUGH = 512  # bytes that distinguish a record from a log whose lines are JSON, and show a tar archive


def begin(path: str) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes of a file, and its whole content as blocks."""
    return _begun(blocks(path, lambda cut: tell(f"railgauge: WARN {cut}")))


def is_recording_file(path: str) -> bool:
    """Whether a regular file is a recording of `nccl run`; pipes are not looked into."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return is_recording(file.read(ENOUGH))
    except OSError:
        return False


def _begun(content: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    first = next(content, b"")
    while 0 < len(first) < ENOUGH and (more := next(content, b"")):
        first += more
    return first, itertools.chain([first], content)


def logs(names: Iterable[str], given: Iterable[str]) -> Iterator[Iterable[bytes]]:
    """The contents of the logs among several files; stderr names the others of a folder, with what they are.

    InputError for a file that was given by its name and cannot be read.
    """
    explicit = frozenset(given)
    for path in names:
        try:
            first, content = begin(path)
        except InputError as error:
            if path in explicit:
                raise
            tell(f"railgauge: {error}: left out")
            continue
        yield from logs_in(first, content, path)


def logs_in(first: bytes, content: Iterator[bytes], path: str) -> Iterator[Iterable[bytes]]:
    """The log that a file is, or those in an archive, by the first bytes of its content."""
    for name, begun, member in _files(first, content, path):
        if other := _other_kind(begun):
            tell(f"railgauge: {name}: {other}")
        else:
            yield member


def _files(first: bytes, content: Iterator[bytes], path: str) -> Iterator[tuple[str, bytes, Iterator[bytes]]]:
    """Name, first bytes and content of a file, or of each in an archive."""
    if not is_archive(first):
        yield path, first, content
        return
    for name, member in members(content, path):
        begun, whole = _begun(member)
        yield name, begun, whole


def _other_kind(first: bytes) -> str:
    """What a file is, and what reads it, by its beginning; "" for a log."""
    if RECORD.match(first):
        return "a document of railgauge, left out: `log explain` reads a flight record by itself"
    if PICKLE.match(first):
        return "a flight record of PyTorch, left out: `log hang` reads it"
    if XML.match(first):
        return "XML, left out: `topo lint` and `graph lint` read topology and graph files"
    if is_recording(first):
        return "a recording of NCCL, left out: `nccl report` reads it"
    if is_archive(first) or b"\0" in first:
        return "not text, left out"
    return ""
