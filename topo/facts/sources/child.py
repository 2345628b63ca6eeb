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

CALL = "call: "  # begins the lines on stderr by which a child names its calls
REAP_S = 1.0  # a child stuck in the driver cannot be reaped: it is left behind rather than waited for


def ask(command: Sequence[str], what: str, timeout_s: float) -> dict[str, Any]:
    """Run a command that prints a JSON object; {"error": reason} when it is late, dies or prints something else."""
    out, error = _run(command, what, timeout_s)
    return {"error": error} if error else _document(out, what)


def ask_lines(command: Sequence[str], what: str, timeout_s: float) -> tuple[list[dict[str, Any]], str]:
    """Run a command that prints a JSON object a line: the lines that it finished, and the reason if it did not end
    well, "" if it did.
    """
    out, error = _run(command, what, timeout_s)
    whole = out[: out.rfind(b"\n") + 1].splitlines()
    found = [_document(line, what) for line in whole]
    wrong = next((str(one["error"]) for one in found if set(one) == {"error"}), "")
    return [one for one in found if set(one) != {"error"}], error or wrong


def doing(what: str) -> None:
    """In the child: name the call that follows, so that the reason names it if it never returns."""
    print(f"{CALL}{what}", file=sys.stderr, flush=True)


def _run(command: Sequence[str], what: str, timeout_s: float) -> tuple[bytes, str]:
    """What a command prints, and the reason if it is late or fails, "" if it ends well."""
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        return b"", f"{what}: cannot start {command[0]}: {error.strerror}"
    try:
        out, err = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as late:
        end_child(child)
        return late.output or b"", f"{what} did not answer within {timeout_s:g} s{_call(late.stderr or b'')}"
    except BaseException:  # Ctrl-C: the child has a session of its own and would live on
        end_child(child)
        raise
    if child.returncode < 0:
        return out, f"{what} crashed ({_signal_name(-child.returncode)}){_call(err)}"
    if child.returncode:
        lines = err.decode("utf-8", "replace").strip().splitlines()
        last = [line for line in lines if not line.startswith(CALL)][-1:] or ["no message"]
        return out, f"{what} failed: {last[0][:200]}"
    return out, ""


def _call(err: bytes) -> str:
    """The last call that a child named."""
    named = [line for line in err.decode("utf-8", "replace").splitlines() if line.startswith(CALL)]
    return f" in {named[-1].removeprefix(CALL)[:120]}" if named else ""


def python(module: str) -> tuple[str, ...]:
    """The command that runs a module with this interpreter; -P, -I: no module comes out of the working directory."""
    archive = getattr(__spec__.loader, "archive", None)  # of zipimport: the collector, which has -m too
    return (sys.executable, "-I", "-S", archive, "-m", module) if archive else (sys.executable, "-P", "-m", module)


def _document(out: bytes, what: str) -> dict[str, Any]:
    try:
        answer = json.loads(out)
    except ValueError:
        return {"error": f"{what} did not return JSON"}
    return answer if isinstance(answer, dict) else {"error": f"{what} did not return a JSON object"}


def end_child(child: "subprocess.Popen[bytes]") -> None:
    """End a child and all that it started, without waiting for one that is stuck in the driver."""
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
