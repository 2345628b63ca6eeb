# SPDX-License-Identifier: Apache-2.0
"""Reads an input once, so that a pipe is as good as a file; none is waited for, or read, for ever."""

import contextlib
import os
import select
import stat
import sys
from collections.abc import Generator, Iterator
from functools import partial

from railgauge.topo.errors import InputError

WRITER_S = 10.0  # how long a named pipe may stay without anybody who writes to it
SILENT_S = 60.0  # how long the one who does may say nothing; the pipes of a shell's command may wait for its end
STDIN = "-"
BLOCK = 1 << 18
MOST = 16 << 30
"""Bytes of a log: more than jobs of a thousand ranks write in weeks."""
MOST_OF_DEVICE = 1 << 20
"""Bytes of a device such as /dev/zero, which has no end, before it is given up."""
OPEN_FILES = "/proc/"
"""Where the names of what is open already lead, such as /dev/stdin and a shell's <(COMMAND)."""


def read_bytes(path: str, most: int) -> bytes:
    """The bytes of a file or pipe, at most one more than `most`; InputError when it is unreadable."""
    pieces, left = [], most + 1
    with _readable(path), contextlib.closing(_opened(path)) as found:
        for block in found:
            pieces.append(block[:left])
            left -= len(pieces[-1])
            if not left:
                break
    return b"".join(pieces)


def blocks(path: str) -> Iterator[bytes]:
    """The bytes of a file or pipe, or of stdin for `-`, a block at a time; InputError when it is unreadable, or when
    there are more than of any log.
    """
    with _readable(path):
        found = iter(partial(sys.stdin.buffer.read, BLOCK), b"") if path == STDIN else _opened(path)
        yield from _up_to(MOST, found, f"larger than {MOST >> 30} GiB: give a part of it", path)


@contextlib.contextmanager
def _readable(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror or error}", path) from error
    except ValueError as error:
        raise InputError(f"cannot read it: {error}", path.replace("\0", "\\0")) from error


def _up_to(most: int, found: Iterator[bytes], why: str, path: str) -> Iterator[bytes]:
    """The blocks; InputError once they are more than so many bytes."""
    for block in found:
        most -= len(block)
        if most < 0:
            raise InputError(why, path)
        yield block


def _opened(path: str) -> Generator[bytes, None, None]:
    """The blocks of a file. Opened without waiting: a pipe that nobody writes to would keep a plain open for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(mode):
            yield from _of_pipe(descriptor, path)
            return
        os.set_blocking(descriptor, True)
        most = MOST_OF_DEVICE if stat.S_ISCHR(mode) else sys.maxsize
        found = iter(partial(os.read, descriptor, BLOCK), b"")
        yield from _up_to(most, found, f"a device that gives more than {most >> 20} MiB: no file", path)
    finally:
        os.close(descriptor)


def _of_pipe(pipe: int, path: str) -> Iterator[bytes]:
    """What comes through a pipe; InputError when nobody opens it, or its writer is silent for too long."""
    first = _first_byte(pipe, path)
    if first:
        yield first
    patience = None if os.path.realpath(path).startswith(OPEN_FILES) else SILENT_S
    while True:
        if not select.select([pipe], [], [], patience)[0]:
            raise InputError(f"a pipe through which nothing came for {SILENT_S:g} s", path)
        try:
            block = os.read(pipe, BLOCK)
        except BlockingIOError:  # another reader of the pipe was faster
            continue
        if not block:
            return
        yield block


def _first_byte(pipe: int, path: str) -> bytes:
    """What was read while it was waited for a writer: nothing or one byte; InputError when none came."""
    if select.select([pipe], [], [], WRITER_S)[0]:
        return b""
    try:
        first = os.read(pipe, 1)
    except BlockingIOError:  # there is one, who has not written yet
        return b""
    if not first:
        raise InputError(f"a pipe to which nobody wrote for {WRITER_S:g} s", path)
    return first
