# SPDX-License-Identifier: Apache-2.0
"""Reads an input once, so that a pipe is as good as a file."""

import os
import select
import stat

from railgauge.topo.errors import InputError

WRITER_S = 10.0  # how long a named pipe may stay without anybody who writes to it


def read_bytes(path: str, most: int) -> bytes:
    """The bytes of a file or pipe, at most one more than `most`; InputError when it is unreadable."""
    try:
        with open(path, "rb", opener=_open) as file:
            is_pipe = stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)
            first = _first_byte(file.fileno(), path) if is_pipe else b""
            os.set_blocking(file.fileno(), True)
            return first + file.read(most + 1 - len(first))
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror or error}", path) from error
    except ValueError as error:
        raise InputError(f"cannot read it: {error}", path.replace("\0", "\\0")) from error


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
