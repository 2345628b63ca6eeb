# SPDX-License-Identifier: Apache-2.0
"""The job secret: known to the processes of one job, and to nobody else on the network.

Launchers make one and pass it on by environment (RAILGAUGE_SECRET), or in a file that its owner alone can read
(RAILGAUGE_SECRET_FILE); never on a command line, which every user of a host can see. handshake.py proves it.
"""

import os
import re
import secrets
import stat
from collections.abc import Mapping

from railgauge.topo.errors import UsageError

VARIABLE = "RAILGAUGE_SECRET"
FILE_VARIABLE = "RAILGAUGE_SECRET_FILE"
SECRET_BYTES = 32
LEAST_BYTES, MOST_BYTES = 16, 4096
"""Anyone who records a handshake can try secrets offline, so a secret has at least 16 characters; the maximum is the
ssh launcher's, which sends it as one line."""
REMEDY = "make one with openssl rand -hex 32"


def new_secret() -> str:
    """A fresh secret of 32 random bytes, as hex text for RAILGAUGE_SECRET."""
    return secrets.token_hex(SECRET_BYTES)


def job_secret(environ: Mapping[str, str]) -> bytes:
    """The secret that the environment names, b"" without one; white space around it is stripped.

    Raises:
        UsageError: it is empty, too short or long, or no line of text; its file is unreadable, too long, another
            user's, or open to other users.
    """
    if (text := environ.get(VARIABLE)) is not None:
        return _whole(text.encode("utf-8", "surrogateescape"), VARIABLE)
    if path := environ.get(FILE_VARIABLE):
        return _whole(_read_private(path), f"{FILE_VARIABLE}: {path}")
    return b""


def _whole(text: bytes, what: str) -> bytes:
    if not (secret := text.strip()):
        raise UsageError(f"{what} is empty: unset it to run without a job secret, or {REMEDY}")
    if re.search(rb"[\x00-\x1f\x7f]", secret):
        raise UsageError(f"{what} contains a NUL, a line break or another control character: {REMEDY}")
    if not LEAST_BYTES <= len(secret) <= MOST_BYTES:
        raise UsageError(
            f"{what} has {len(secret)} characters: a job secret needs {LEAST_BYTES} to {MOST_BYTES}; {REMEDY}"
        )
    return secret


def _read_private(path: str) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            _check_private(path, status)
            return file.read(MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{FILE_VARIABLE}: cannot read {path}: {error.strerror}") from None


def _check_private(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
        raise UsageError(f"{FILE_VARIABLE}: {path} is not a regular file of at most {MOST_BYTES} bytes")
    if status.st_uid != os.geteuid():
        raise UsageError(
            f"{FILE_VARIABLE}: {path} belongs to uid {status.st_uid}, not to this user (uid {os.geteuid()})"
        )
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = stat.S_IMODE(status.st_mode)
        raise UsageError(f"{FILE_VARIABLE}: other users can read {path} (mode {mode:04o}): chmod 600 {path}")
