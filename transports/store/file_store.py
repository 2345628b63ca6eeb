# SPDX-License-Identifier: Apache-2.0
"""A store in a file that all processes see, on a local disk or on NFS.

The keys exist as long as a process has the store open. Each process holds a lock on a byte of its own for that time
(far behind the contents), and a lock ends with its process, also on another host; so a process that opens the file
knows whether others use it. A file that nobody has open is left over from a run that ended or was killed, and is
restarted.

    byte MUTEX          the process that reads or writes          MUTEX + 1 + n          the n-th process of the run
"""

import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from time import sleep

from railgauge.topo.errors import Error, InputError, UsageError
from railgauge.transports.store.file_lock import is_locked, locked, try_lock, unlock
from railgauge.transports.store.file_log import FileLog, RecordKind
from railgauge.transports.store.store import DEFAULT_TIMEOUT
from railgauge.transports.store.values import Values
from railgauge.transports.store.values_store import ValuesStore

MUTEX = 1 << 30
MEMBERS = MUTEX + 1
NOBODY = 65534
"""The owner that an NFS server gives to the files of a client's root (root_squash)."""
NO_FILE = "is not a regular file: a store needs a file of its own"


class FileStore(ValuesStore):
    """Names and argument order of torch.distributed.FileStore; `world_size` processes use the file; 0 or -1: any
    number.

    Raises:
        InputError: the file cannot be opened, belongs to another user, or is not a store.
        UsageError: all `world_size` processes of another run have it open.
        UnavailableError: the filesystem does not support locks.
    """

    def __init__(self, file_name: str, world_size: int = -1, timeout: timedelta = DEFAULT_TIMEOUT) -> None:
        super().__init__(timeout)
        self._path = os.path.abspath(file_name)
        self._world_size = world_size
        self._values = Values()
        self._members: list[str] = []
        self._thread_lock = threading.RLock()
        self._fd = _open(self._path)
        self._log = FileLog(self._path, self._fd)
        try:
            with self._locked():
                self._join()
        except BaseException:
            os.close(self._fd)
            self._fd = -1
            raise

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    def close(self) -> None:
        """Leave; the last process to do so empties the file."""
        with self._thread_lock:
            if self._fd < 0:
                return
            fd, self._fd = self._fd, -1
            with suppress(Error, OSError), locked(fd, MUTEX, self.timeout.total_seconds()):
                unlock(fd, self._mine)
                if not is_locked(fd, MEMBERS):
                    self._log.clear()
            os.close(fd)

    def __del__(self) -> None:
        # Only release: the interrupted thread may hold the lock, and a fork's copy must end nothing.
        if getattr(self, "_fd", -1) >= 0:
            os.close(self._fd)

    def _join(self) -> None:
        """Join the run that has the file open, or start a new one."""
        is_empty = self._log.is_empty()
        _make_private(self._fd, self._path)  # known by now not to be another file of the user's
        if is_empty or not is_locked(self._fd, MEMBERS):
            self._log.begin()
        else:
            self._catch_up()
        if 0 < self._world_size <= len(self._members):
            raise UsageError(
                f"{self._path}: a run of {len(self._members)} processes has this file open ({self._still_there()}): "
                f"wait for it to end or end it, or use another file for this run"
            )
        self._mine = MEMBERS + len(self._members)
        try_lock(self._fd, self._mine)
        who = f"{socket.gethostname()} pid {os.getpid()}"
        self._log.add([(RecordKind.JOIN, b"", who.encode())])
        self._members.append(who)

    def _still_there(self) -> str:
        there = [who for number, who in enumerate(self._members) if is_locked(self._fd, MEMBERS + number, 1)]
        return ", ".join(there[:8]) + (f" and {len(there) - 8} more" if len(there) > 8 else "")

    @contextmanager
    def _exclusive(self) -> Iterator[Values]:
        with self._thread_lock:
            if self._fd < 0:
                raise UsageError(f"the store in {self._path} is closed")
            with self._locked():
                try:
                    self._catch_up()
                    yield self._values
                    self._write_changes()
                except BaseException:
                    self._read_anew()
                    raise

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with locked(self._fd, MUTEX, self.timeout.total_seconds()):
                yield
        except OSError as error:  # on NFS: a file that was removed on another host, a server that is gone
            raise InputError(f"cannot be used as a store: {error.strerror}", self._path) from None

    def _read_anew(self) -> None:
        """Discard what was read: the values may not have been written to the file."""
        self._values = Values()
        self._members = []
        self._log.rewind()

    def _catch_up(self) -> None:
        for kind, key, value in self._log.read():
            if kind is RecordKind.SET:
                self._values.set(key, value)
            elif kind is RecordKind.DELETE:
                self._values.delete(key)
            else:
                self._members.append(value.decode(errors="replace"))
        self._values.take_changes()

    def _write_changes(self) -> None:
        changed = dict.fromkeys(self._values.take_changes())
        values = [(key, self._values.get(key)) for key in changed]
        if values:
            self._log.add(
                [
                    (RecordKind.DELETE, key, b"") if value is None else (RecordKind.SET, key, value)
                    for key, value in values
                ]
            )

    def _pause(self, version: int, limit_s: float) -> None:
        sleep(limit_s)

    def _name(self) -> str:
        return f"the store in {self._path}"


def _open(path: str) -> int:
    """Open or make the file."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise InputError(_why_not(path, error), path) from None
    try:
        _check(fd, path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _why_not(path: str, error: OSError) -> str:
    if os.path.islink(path):
        return "is a symbolic link: give the file itself"
    if os.path.exists(path) and not os.path.isfile(path):
        return NO_FILE
    return f"cannot be opened as a store: {error.strerror}: do all hosts see its directory?"


def _check(fd: int, path: str) -> None:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        raise InputError(NO_FILE, path)
    owner = found.st_uid
    if owner not in {os.geteuid(), NOBODY if os.geteuid() == 0 else os.geteuid()}:
        raise InputError(f"belongs to another user (uid {owner}): use a file of your own", path)


def _make_private(fd: int, path: str) -> None:
    try:
        os.fchmod(fd, 0o600)
    except OSError as error:
        raise InputError(f"cannot restrict its mode to this user: {error.strerror}", path) from None
