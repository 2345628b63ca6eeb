# SPDX-License-Identifier: Apache-2.0
"""Reads an input once, so that a pipe is as good as a file."""

import contextlib
import os
import select
import stat
import sys
from collections.abc import Iterator
from functools import partial
from io import BufferedReader

from railgauge.topo.errors import InputError

WRITER_S = 10.0  # how long a named pipe may stay without anybody who writes to it


STDIN = "-"
BLOCK = 1 << 18


def read_bytes(path: str, most: int) -> bytes:
    """The bytes of a file or pipe, at most one more than `most`; InputError when it is unreadable."""
    with _readable(path), open(path, "rb", opener=_open) as file:
        first = _wait(file, path)
        return first + file.read(most + 1 - len(first))


def blocks(path: str) -> Iterator[bytes]:
    """The bytes of a file or pipe, or of stdin for `-`, a block at a time; InputError when it is unreadable."""
    with _readable(path):
        if path == STDIN:
            yield from iter(partial(sys.stdin.buffer.read, BLOCK), b"")
            return
        with open(path, "rb", opener=_open) as file:
            first = _wait(file, path)
            if first:
                yield first
            yield from iter(partial(file.read, BLOCK), b"")


@contextlib.contextmanager
def _readable(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror or error}", path) from error
    except ValueError as error:
        raise InputError(f"cannot read it: {error}", path.replace("\0", "\\0")) from error


def _wait(file: BufferedReader, path: str) -> bytes:
    """Have a file ready to be read, and a pipe's first byte where one had to be read for that."""
    is_pipe = stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)
    first = _first_byte(file.fileno(), path) if is_pipe else b""
    os.set_blocking(file.fileno(), True)
    return first


def _open(path: str, flags: int) -> int:
    """Open without waiting: a pipe that nobody writes to would keep a plain open for ever."""
    return os.open(path, flags | os.O_NONBLOCK)


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
