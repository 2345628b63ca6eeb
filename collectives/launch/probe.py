# SPDX-License-Identifier: Apache-2.0
"""What preflight.py runs on each host: it prints one line of JSON about it. The host may have another railgauge, or
none, so this text is sent to it (`python -P - QUESTION < probe.py`), and the standard library is all it uses.
"""

import fcntl
import json
import socket
import sys


def version() -> str | None:
    """The version of this Python's railgauge."""
    try:
        import railgauge
    except ImportError:
        return None
    return railgauge.__version__


def unresolved(name: str) -> str | None:
    """Why this host cannot resolve another one's name."""
    try:
        socket.getaddrinfo(name, None)
    except OSError as error:
        return error.strerror or str(error)
    return None


def not_locked(path: str) -> str | None:
    """Why the lock of the launching host does not block one from here."""
    try:
        with open(path, "r+b") as file:
            return None if lock_is_held(file.fileno()) else "a lock of one host is not seen by another"
    except OSError as error:
        return error.strerror or str(error)


def lock_is_held(fd: int) -> bool:
    """Whether another process has the file locked; fcntl(2) says so with either error."""
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return True
    return False


def main() -> None:
    """Answer the question in the first argument."""
    question = json.loads(sys.argv[1])
    found = [(name, unresolved(name)) for name in question["names"]]
    found += [(path, not_locked(path)) for path in question["locked"]]
    problems = {what: why for what, why in found if why}
    print(json.dumps({"version": version(), "problems": problems}))


if __name__ == "__main__":
    main()
