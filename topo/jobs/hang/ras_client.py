# SPDX-License-Identifier: Apache-2.0
"""Asks the RAS of a job that runs, as ncclras does: lines of text over TCP (NCCL's src/ras/client.cc).

CLIENT PROTOCOL 2 is answered by SERVER PROTOCOL n; TIMEOUT n and SET FORMAT json by OK; [VERBOSE ]STATUS by the report,
after which NCCL closes. NCCL before 2.28.7 answers SET FORMAT by an error: then the report is text.
"""

import socket
import time

from railgauge.topo.errors import InputError, UnavailableError

PORT = 28028
PROTOCOL = 2
GRACE_S = 5.0
"""Time for NCCL's answer beyond its own timeout for processes."""
ANSWER_S = 5.0
"""For connecting, and for each line of the exchange before the report."""
MOST_BYTES = 64 << 20
LONGEST_LINE = 1 << 10


def ask(host: str, port: int = PORT, *, wait_s: float = 5.0) -> bytes:
    """The report of the job whose RAS listens there: JSON, or text of an older NCCL.

    wait_s: how long NCCL may wait for the job's processes. UnavailableError if no program listens there, or not
    NCCL.
    """
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        with socket.create_connection((host, port), ANSWER_S) as connection:
            return _exchange(connection, wait_s)
    except OSError as error:
        raise UnavailableError(
            f"RAS does not answer at {where}: {error.strerror or error}. It listens on the nodes of a job "
            "that runs with NCCL 2.24 or newer, only on localhost unless NCCL_RAS_ADDR is set, and not with "
            "NCCL_RAS_ENABLE=0"
        ) from error
    except ValueError as error:
        raise UnavailableError(f"the program at {where} is not NCCL's RAS: {error}") from None


def _exchange(connection: socket.socket, wait_s: float) -> bytes:
    answer = _command(connection, f"CLIENT PROTOCOL {PROTOCOL}")
    if not answer.upper().startswith("SERVER PROTOCOL "):
        raise ValueError(f"it answers {answer[:80]!r}")
    answer = _command(connection, f"TIMEOUT {max(1, round(wait_s))}")
    if answer != "OK":
        raise ValueError(f"it answers {answer[:80]!r}")
    _command(connection, "SET FORMAT json")
    connection.sendall(b"VERBOSE STATUS\n")
    return _rest(connection, time.monotonic() + max(1.0, wait_s) + GRACE_S)


def _command(connection: socket.socket, line: str) -> str:
    """Send a line and receive the one that answers it."""
    deadline = time.monotonic() + ANSWER_S
    connection.sendall(f"{line}\n".encode())
    answer = b""
    while not answer.endswith(b"\n"):
        part = _receive(connection, LONGEST_LINE, deadline)
        answer += part
        if not part or len(answer) > LONGEST_LINE:
            raise ValueError(f"it answers {answer[:80]!r}" if answer else "it closed the connection")
    return answer.decode("utf-8", "replace").strip()


def _rest(connection: socket.socket, deadline: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := _receive(connection, 1 << 16, deadline):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise InputError(f"RAS's report is larger than {MOST_BYTES >> 20} MiB")
    return b"".join(parts)


def _receive(connection: socket.socket, most: int, deadline: float) -> bytes:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timeout")
    connection.settimeout(left)
    return connection.recv(most)
