# SPDX-License-Identifier: Apache-2.0
"""Reads an input once, file or pipe, with limits on time and size."""

import contextlib
import os
import select
import stat
import sys
from collections.abc import Callable, Generator, Iterator
from functools import partial

from railgauge.topo.errors import InputError, TruncatedError
from railgauge.topo.files.compression import plain

WRITER_S = 10.0  # how long to wait for a writer of a named pipe
SILENT_S = 60.0  # how long the writer may be silent; a shell's <(COMMAND) may write only at its end
STDIN = "-"
BLOCK = 1 << 18
MOST = 16 << 30
"""Most bytes of a log: more than a job of a thousand ranks writes in weeks."""
MOST_OF_DEVICE = 1 << 20
"""Most bytes of a device; /dev/zero has no end."""
OPEN_FILES = "/proc/"
"""Folders of open descriptors: /dev/stdin and a shell's <(COMMAND) lead there."""


def read_bytes(path: str, most: int, *, packed: bool = False) -> bytes:
    """The bytes of a file or pipe, or of stdin for `-`, at most one more than `most`; InputError when it is unreadable.

    They are unpacked if it is packed (compression.plain), unless `packed`.
    """
    pieces, left = [], most + 1
    with _readable(path), contextlib.closing(_raw(path)) as found:
        for block in found if packed else plain(found, path):
            pieces.append(block[:left])
            left -= len(pieces[-1])
            if not left:
                break
    return b"".join(pieces)


def blocks(path: str, notice: Callable[[str], None] | None = None) -> Iterator[bytes]:
    """The bytes of a file or pipe, or of stdin for `-`, unpacked, a block at a time; InputError when it is unreadable
    or larger than any log.

    `notice` takes the words about a packed file that breaks off after some data, which is then no error.
    """
    some = False
    with _readable(path):
        try:
            for block in _up_to(
                MOST, plain(_raw(path), path), f"larger than {MOST >> 30} GiB: pass a part of it", path
            ):
                some = True
                yield block
        except TruncatedError as error:
            if notice is None or not some:
                raise
            notice(f"{error}; read as far as it goes")


def _raw(path: str) -> Generator[bytes, None, None]:
    """The blocks of a file or of stdin as they are."""
    if path == STDIN:
        yield from iter(partial(sys.stdin.buffer.read, BLOCK), b"")
    else:
        yield from _opened(path)


@contextlib.contextmanager
def _readable(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror or error}", path) from error
    except ValueError as error:
        raise InputError(f"cannot read it: {error}", path.replace("\0", "\\0")) from error


def _up_to(most: int, found: Iterator[bytes], why: str, path: str) -> Iterator[bytes]:
    """The blocks; InputError once they exceed the limit in bytes."""
    for block in found:
        most -= len(block)
        if most < 0:
            raise InputError(why, path)
        yield block


def _opened(path: str) -> Generator[bytes, None, None]:
    """The blocks of a file. Opened without blocking: a plain open of a pipe without a writer would hang."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(mode):
            yield from _of_pipe(descriptor, path)
            return
        os.set_blocking(descriptor, True)
        most = MOST_OF_DEVICE if stat.S_ISCHR(mode) else sys.maxsize
        found = iter(partial(os.read, descriptor, BLOCK), b"")
        yield from _up_to(most, found, f"a device with more than {most >> 20} MiB, not a file", path)
    finally:
        os.close(descriptor)


def _of_pipe(pipe: int, path: str) -> Iterator[bytes]:
    """The content of a pipe; InputError if nobody opens it, or its writer is silent for too long."""
    first = _first_byte(pipe, path)
    if first:
        yield first
    patience = None if os.path.realpath(path).startswith(OPEN_FILES) else SILENT_S
    while True:
        if not select.select([pipe], [], [], patience)[0]:
            raise InputError(f"no data from the pipe for {SILENT_S:g} s", path)
        try:
            block = os.read(pipe, BLOCK)
        except BlockingIOError:  # another reader of the pipe was faster
            continue
        if not block:
            return
        yield block


def _first_byte(pipe: int, path: str) -> bytes:
    """Wait for a writer; return what was read meanwhile (nothing or one byte). InputError if none came."""
    if select.select([pipe], [], [], WRITER_S)[0]:
        return b""
    try:
        first = os.read(pipe, 1)
    except BlockingIOError:  # a writer, which has not written yet
        return b""
    if not first:
        raise InputError(f"no writer opened the pipe within {WRITER_S:g} s", path)
    return first
