# SPDX-License-Identifier: Apache-2.0
"""The file of a FileStore: a header, and records that are only ever added.

header   b"railgauge-store1" | 16 random bytes: the run that the file belongs to
record   kind (1 byte) | key length (4) | value length (4) | key | value        little-endian
"""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from enum import IntEnum

from railgauge.topo.errors import InputError, RunError
from railgauge.transports.store.store import MAX_KEY, MAX_VALUE

MAGIC = b"railgauge-store1"
RUN = 16
HEADER = len(MAGIC) + RUN
RECORD = struct.Struct("<BII")


class RecordKind(IntEnum):
    """What a record says."""

    JOIN = 1
    """A process has joined; the value says which."""
    SET = 2
    DELETE = 3


Record = tuple[RecordKind, bytes, bytes]


class FileLog:
    """Continues reading where it stopped, and writes at the end. The caller holds the file's lock."""

    def __init__(self, path: str, fd: int) -> None:
        self._path = path
        self._fd = fd
        self._run = b""
        self._at = 0
        self._may_be_remote = os.major(os.fstat(fd).st_dev) == 0
        """Not on a block device of this host: NFS, Lustre and the like, but tmpfs too."""

    def is_empty(self) -> bool:
        """Whether nothing is in it.

        Raises:
            InputError: it is not empty and not a store.
        """
        begin = os.pread(self._fd, len(MAGIC), 0)
        if not MAGIC.startswith(begin):
            raise InputError(f"is not a store: it begins with {begin!r}; use another file, or remove it", self._path)
        return not begin

    def begin(self) -> None:
        """Start the file of a new run."""
        os.ftruncate(self._fd, 0)
        self._run = os.urandom(RUN)
        self._at = 0
        self._write(MAGIC + self._run)

    def rewind(self) -> None:
        """Read from the start the next time."""
        self._at = 0

    def clear(self) -> None:
        """Leave the file empty."""
        os.ftruncate(self._fd, 0)

    def add(self, records: list[Record]) -> None:
        """Add records.

        Raises:
            InputError: the disk is full; the file is unchanged.
        """
        self._write(b"".join(RECORD.pack(kind, len(key), len(value)) + key + value for kind, key, value in records))

    def read(self) -> Iterator[Record]:
        """The records that were added since the last time.

        Raises:
            RunError: the file was removed, or belongs to another run now.
            InputError: it ends within a record, or has an invalid one.
        """
        self._check_run()
        if (size := os.fstat(self._fd).st_size) > self._at:
            data = _read(self._fd, self._at, size - self._at)
            yield from self._records(data)

    def _check_run(self) -> None:
        header = os.pread(self._fd, HEADER, 0)
        if len(header) < HEADER:
            raise self._broken("its header is truncated")
        run = header[len(MAGIC) :]
        self._run = self._run or run
        self._at = self._at or HEADER
        if run != self._run or os.fstat(self._fd).st_size < self._at:
            raise RunError(
                f"{self._path}: another process restarted this file while this one used it: does the filesystem share "
                f"its locks between hosts (NFS mounted with nolock does not)?"
            )
        if not self._is_at_its_path():
            raise RunError(f"{self._path}: the file was removed while this process used it")

    def _is_at_its_path(self) -> bool:
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._fd))
        except FileNotFoundError:
            return False

    def _records(self, data: bytes) -> Iterator[Record]:
        at = 0
        while at < len(data):
            if at + RECORD.size > len(data):
                raise self._broken("it ends within a record")
            kind, key_size, value_size = RECORD.unpack_from(data, at)
            if kind not in tuple(RecordKind) or key_size > MAX_KEY or value_size > MAX_VALUE:
                raise self._broken(f"invalid record at byte {self._at}")
            key_at = at + RECORD.size
            value_at, end = key_at + key_size, key_at + key_size + value_size
            if end > len(data):
                raise self._broken("it ends within a record")
            self._at += end - at
            yield RecordKind(kind), data[key_at:value_at], data[value_at:end]
            at = end

    def _write(self, data: bytes) -> None:
        try:
            written = os.pwrite(self._fd, data, self._at)
            while written < len(data):
                written += os.pwrite(self._fd, data[written:], self._at + written)
            if self._may_be_remote:
                os.fdatasync(self._fd)  # NFS reports a full disk only now
        except OSError as error:
            self._cut_off()
            raise InputError(f"cannot be written: {error.strerror}", self._path) from None
        self._at += len(data)

    def _cut_off(self) -> None:
        """Remove a half-written record, which would end the others too."""
        with suppress(OSError):
            os.fdatasync(self._fd)  # on NFS some of it may still be on its way
        with suppress(OSError):
            os.ftruncate(self._fd, self._at)

    def _broken(self, what: str) -> InputError:
        return InputError(
            f"the store is damaged: {what}: a process was killed while writing, or another program wrote to the file; "
            f"end the run that uses it, and remove it",
            self._path,
        )


def _read(fd: int, at: int, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := os.pread(fd, size, at)):
        pieces.append(piece)
        at += len(piece)
        size -= len(piece)
    return b"".join(pieces)
