# SPDX-License-Identifier: Apache-2.0
"""Locks on bytes of a file, which NFS shares between hosts, and which end with the process that holds them.

These are open file description locks (fcntl(2), F_OFD_SETLK): unlike F_SETLK's they distinguish two stores of one
process, and are not lost when the process closes another descriptor of the file.
"""

import errno
import fcntl
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

from railgauge.topo.errors import UnavailableError, WaitTimeoutError

FLOCK = struct.Struct("hhqqi4x")
"""struct flock of 64-bit Linux: type, whence, start, length (0: to the end), pid."""
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
FIRST_PAUSE_S = 0.0002
LONGEST_PAUSE_S = 0.02


def try_lock(fd: int, start: int) -> bool:
    """Lock one byte, unless another process holds it.

    Raises:
        UnavailableError: the filesystem does not support locks. OSError: the file is no longer reachable.
    """
    try:
        _call(fd, fcntl.F_OFD_SETLK, fcntl.F_WRLCK, start, 1)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        if error.errno not in NO_LOCKS:
            raise
        raise UnavailableError(
            f"{_path(fd)} cannot be locked: {error.strerror}: this filesystem does not support locks as mounted "
            f"(Lustre: -o flock; NFS: lockd must run); use a file elsewhere, or tcp://"
        ) from None
    return True


def unlock(fd: int, start: int) -> None:
    """Unlock a byte."""
    _call(fd, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, start, 1)


def is_locked(fd: int, start: int, length: int = 0) -> bool:
    """Whether another process holds one of these bytes (length 0: any from `start` on)."""
    return bool(_call(fd, fcntl.F_OFD_GETLK, fcntl.F_WRLCK, start, length) != fcntl.F_UNLCK)


@contextmanager
def locked(fd: int, start: int, timeout_s: float) -> Iterator[None]:
    """Hold one byte.

    Raises:
        WaitTimeoutError: another process held it all the time. UnavailableError: as `try_lock`.
    """
    deadline, pause_s = time.monotonic() + timeout_s, FIRST_PAUSE_S
    while not try_lock(fd, start):
        if time.monotonic() > deadline:
            raise WaitTimeoutError(
                f"waited {timeout_s:g} s for the lock of {_path(fd)}: the process that holds it hangs"
            )
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
    try:
        yield
    finally:
        unlock(fd, start)


def _call(fd: int, command: int, kind: int, start: int, length: int) -> int:
    answer = fcntl.fcntl(fd, command, FLOCK.pack(kind, os.SEEK_SET, start, length, 0))
    return int(FLOCK.unpack(answer)[0])


def _path(fd: int) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")
