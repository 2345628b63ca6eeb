# SPDX-License-Identifier: Apache-2.0
"""The one exception tree of railgauge, and the exit status of each; all others are errors of railgauge itself (70).

    Error                     1 never on its own
     ├─ UsageError            2  a flag or argument is wrong
     │   └─ AuthenticationError 2  the other end has another job secret
     ├─ UnavailableError      3  a device, library or permission is absent, so nothing could be done
     │   └─ LeftOutError      3  a part of railgauge that the collector does not have
     ├─ RunError              4  a run or measurement failed
     │   ├─ VerificationError 4  wrong data
     │   ├─ PeerLostError     4  a rank died or stopped answering
     │   ├─ MismatchError     4  ranks disagree on what they are doing
     │   ├─ AbortedError      4  another rank asked this one to stop
     │   └─ WaitTimeoutError  4  a wait reached its deadline
     └─ InputError            5  an input file is unreadable or invalid (path, line)

Every message says what happened, where, and what to try.
"""

import errno
import os
import resource
import signal
import traceback

INTERNAL = 70
"""EX_SOFTWARE of sysexits.h: an error of railgauge itself; never the status of a finding or a difference."""
INTERNAL_ERROR = "internal error of railgauge: "
"""What stands before its description, where other answers go on."""
INTERRUPTED = "interrupted"
"""The message of Ctrl-C, and the status of a document that it cut short."""
NO_THREAD = ("start new thread", "Resource temporarily unavailable")  # Python's threading, C++'s std::thread
NO_PROCESS = "cannot start a thread or process: check ulimit -u, ulimit -v and pids.max of the cgroup"
LIBRARY = 64 << 20
"""Bytes: more address space than any one library, thread or module that is loaded needs."""
WRONG_CALLS = (None, errno.EFAULT, errno.EINVAL, errno.ENOTSOCK)
"""Errors of an invalid call, or raised by Python itself: the system refused nothing."""


class Error(Exception):
    """Base of all errors that railgauge raises on purpose; `exit_status` is the exit status of the command line."""

    exit_status = 1


class UsageError(Error):
    """A flag, argument or setting is wrong."""

    exit_status = 2


class AuthenticationError(UsageError):
    """The other end of a connection cannot prove that it has the same job secret."""


class UnavailableError(Error):
    """A device, library or permission is absent."""

    exit_status = 3


class LeftOutError(UnavailableError):
    """A part of railgauge that is not in this build of it (cli/collector): what it would tell stays unknown."""


class RunError(Error):
    """A run or a measurement failed: wrong data, too slow, wrong transport, a peer lost, a timeout."""

    exit_status = 4


class VerificationError(RunError):
    """The data is wrong."""


class PeerLostError(RunError):
    """Another rank died or stopped answering; `rank` is its number, None if unknown."""

    def __init__(self, message: str, rank: int | None = None) -> None:
        super().__init__(message)
        self.rank = rank


class MismatchError(RunError):
    """Ranks disagree on what they are doing: other counts, types, settings or versions."""


class AbortedError(RunError):
    """Another rank asked this one to stop; that one reports why."""


class WaitTimeoutError(RunError):
    """A wait reached its deadline."""


class InputError(Error):
    """An input is unreadable or invalid; `path` and `line` (1-based) say where."""

    exit_status = 5

    def __init__(self, message: str, path: str | None = None, line: int | None = None) -> None:
        self.path = path
        self.line = line
        where = f"{path}:{line}: " if path and line else f"{path}: " if path else ""
        super().__init__(where + message)


def status_of(error: BaseException | None) -> int:
    """The exit status for the error that ended a command, a rank or a rule; 0 for None."""
    if error is None:
        return 0
    if isinstance(error, Error):
        return error.exit_status
    if isinstance(error, KeyboardInterrupt):
        return 128 + signal.SIGINT
    if isinstance(error, BrokenPipeError):
        return 128 + signal.SIGPIPE
    refused = isinstance(error, OSError) and error.errno not in WRONG_CALLS
    return UnavailableError.exit_status if refused or _lacks(error) else INTERNAL


def verdict_of(error: str | None) -> str:
    """The `status` of a document whose error is `error`: ok, failed, or interrupted."""
    return INTERRUPTED if error == INTERRUPTED else "failed" if error else "ok"


def described(error: BaseException) -> str:
    """The text of an error: the message of one raised on purpose; kind and place of an error of railgauge itself."""
    if isinstance(error, Error):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if status_of(error) == INTERNAL:
        return f"unexpected {type(error).__name__}: {error}{_place(error)}"
    if lacking := _lacks(error):
        return lacking
    assert isinstance(error, OSError)
    said = error.strerror or str(error)
    words = os.strerror(error.errno) if error.errno and error.errno in errno.errorcode else said
    said = said if said == words else f"{said}: {words}"
    return f"{error.filename}: {said}" if error.filename else f"{said}{_place(error)}"


def _lacks(error: BaseException) -> str:
    """The resource that this process ran out of; "" for another error."""
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, RuntimeError) and str(error).endswith(NO_THREAD):
        return NO_PROCESS
    if isinstance(error, OSError):
        return NO_PROCESS if error.errno == errno.EAGAIN else ""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit - _address_space() < LIBRARY:
        return f"out of memory (ulimit -v: {limit} bytes): {type(error).__name__}: {error}"
    return ""


def _address_space() -> int:
    """Bytes of address space in use. A module or codec that finds no room there fails with any kind of error: this one
    asks for none, not even a file object's lock.
    """
    statm = os.open("/proc/self/statm", os.O_RDONLY)
    try:
        return int(os.read(statm, 256).split()[0]) * resource.getpagesize()
    finally:
        os.close(statm)


def _place(error: BaseException) -> str:
    """The line that raised it, e.g. " (topo/nccl/paths/paths.py:33)"; "" if unknown."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    folder, name = os.path.split(frames[-1].filename)
    return f" ({os.path.join(os.path.basename(folder), name)}:{frames[-1].lineno})"


class TruncatedError(InputError):
    """A packed file that breaks off: what came before is sound."""
