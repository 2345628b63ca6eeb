# SPDX-License-Identifier: Apache-2.0
"""Asks a library in a child process with a time limit: a call that hangs or crashes takes only the child along.

The child prints one JSON object. What went wrong comes back as {"error": reason}: a missing reading is an answer too.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

REAP_S = 1.0  # a child stuck in the driver cannot be reaped: it is left behind rather than waited for


def ask(command: Sequence[str], what: str, timeout_s: float) -> dict[str, Any]:
    """Run a command that prints a JSON object; {"error": reason} when it is late, dies or prints something else."""
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        return {"error": f"{what}: cannot start {command[0]}: {error.strerror}"}
    try:
        out, err = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _abandon(child)
        return {"error": f"{what} did not answer within {timeout_s:g} s"}
    except BaseException:  # Ctrl-C: the child has a session of its own and would live on
        _abandon(child)
        raise
    if child.returncode < 0:
        return {"error": f"{what} crashed ({_signal_name(-child.returncode)})"}
    if child.returncode:
        last = (err.decode("utf-8", "replace").strip().splitlines() or ["no message"])[-1]
        return {"error": f"{what} failed: {last[:200]}"}
    return _document(out, what)


def python(module: str) -> tuple[str, ...]:
    """The command that runs a module with this interpreter; -P: no module comes out of the working directory."""
    return (sys.executable, "-P", "-m", module)


def _document(out: bytes, what: str) -> dict[str, Any]:
    try:
        answer = json.loads(out)
    except ValueError:
        return {"error": f"{what} did not return JSON"}
    return answer if isinstance(answer, dict) else {"error": f"{what} did not return a JSON object"}


def _abandon(child: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(REAP_S)
    for pipe in (child.stdout, child.stderr):
        if pipe:
            pipe.close()
    child.returncode = child.returncode if child.returncode is not None else -signal.SIGKILL


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
