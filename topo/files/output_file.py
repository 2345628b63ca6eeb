# SPDX-License-Identifier: Apache-2.0
"""Writes an output whole or not at all; all files that railgauge makes are written here.

A new file atomically replaces the old one and takes its mode and owner, so that a full disk or an interrupt leaves the
old one unchanged. A pipe, a device or an open stream is written to directly.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
import time

from railgauge.topo.errors import UnavailableError

STREAM = re.compile(r"/dev/(?P<name>stdout|stderr)|(?:/dev|/proc/(?:self|(?P<process>\d+)))/fd/(?P<number>\d+)")
"""Names of open descriptors, here or in another process: never replaced."""
NAMED = {"stdout": 1, "stderr": 2}
READER_S = 10.0
"""How long to wait for a reader of a named pipe."""
MAX_LINKS = 40
"""Links followed, as in the kernel."""
NEW_FILE = 0o666
"""The mode of a new file, less the umask."""


def write_file(path: str, data: bytes) -> None:
    """Write a file; UnavailableError with the reason if that fails.

    A link stays, and its target is replaced. In a folder writable by everybody, a link of another user is not followed
    and a file of another user is not written, as in the kernel (proc_sys_fs(5): protected_symlinks,
    protected_regular).
    """
    try:
        _write(path, data)
    except OSError as error:
        raise UnavailableError(f"cannot write {path}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise UnavailableError(f"cannot write {path}: {error}") from error


def _write(path: str, data: bytes) -> None:
    real = _followed(path)
    if stream := STREAM.fullmatch(real):
        _pour(_of_stream(stream), data)
        return
    try:
        there = os.lstat(real)
    except FileNotFoundError:
        _replace(real, data, None)
        return
    if stat.S_ISREG(there.st_mode):
        _refuse_foreign(real, there, "file")
        os.close(os.open(real, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC))  # the kernel decides on permission
        _replace(real, data, there)
    else:
        _pour(_opened(real, is_pipe=stat.S_ISFIFO(there.st_mode)), data)


def _followed(path: str) -> str:
    """The absolute path with all links followed, as far as it exists, or the name of a stream on the way."""
    todo = [*reversed(os.path.join(os.getcwd(), path).split("/"))]
    done, links = "", 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            done = os.path.dirname(done).rstrip("/")
            continue
        here = f"{done}/{part}"
        if not todo and STREAM.fullmatch(here):
            return here
        if not os.path.islink(here):
            done = here
            continue
        links += 1
        if links > MAX_LINKS:
            raise OSError("too many symbolic links, or a loop")
        _refuse_foreign(here, os.lstat(here), "link")
        target = os.readlink(here)
        todo.extend(reversed(target.split("/")))
        done = "" if target.startswith("/") else done
    if path.endswith("/"):
        raise IsADirectoryError(0, "it names a folder")
    return done or "/"


def _refuse_foreign(path: str, found: os.stat_result, what: str) -> None:
    """OSError for a file or link of another user in a folder writable by everybody."""
    folder = os.stat(os.path.dirname(path) or "/")
    shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    if shared and found.st_uid not in (os.geteuid(), folder.st_uid):
        raise OSError(f"{path} is a {what} of another user (uid {found.st_uid}) in a world-writable folder")


def _of_stream(stream: re.Match[str]) -> int:
    """A descriptor of a stream; one of this process by number, because a socket cannot be opened by name."""
    if stream["process"]:
        return os.open(stream[0], os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC)
    return os.dup(NAMED[stream["name"]] if stream["name"] else int(stream["number"]))


def _opened(path: str, *, is_pipe: bool) -> int:
    """A descriptor of a pipe or device, opened without blocking: a pipe without a reader would hang."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC
    if not is_pipe:
        return os.open(path, flags)
    end = time.monotonic() + READER_S
    while True:
        try:
            descriptor = os.open(path, flags | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > end:
                raise OSError(f"no reader opened the pipe within {READER_S:g} s") from None
            time.sleep(0.01)  # the kernel does not notify a writer of a new reader
        else:
            os.set_blocking(descriptor, True)
            return descriptor


def _pour(descriptor: int, data: bytes) -> None:
    """Write to an open descriptor, after what this process printed before."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with open(descriptor, "wb") as file:
        file.write(data)


def _replace(path: str, data: bytes, old: os.stat_result | None) -> None:
    part = os.path.join(os.path.dirname(path), f".railgauge-{secrets.token_hex(8)}.part")
    mode = 0o600 if old else NEW_FILE
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
        try:
            file.write(data)
            file.flush()
            if old:
                _take_after(file.fileno(), old)
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise


def _take_after(descriptor: int, old: os.stat_result) -> None:
    """Give a new file the owner, the group and the mode of the old one; OSError if only root may."""
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except PermissionError:
            owner = f"uid {old.st_uid}, gid {old.st_gid}"
            raise OSError(f"it belongs to {owner}, and only root can keep that owner: remove it first") from None
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & 0o777)
