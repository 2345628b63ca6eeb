# SPDX-License-Identifier: Apache-2.0
"""The tie between a rank and railgauge's launcher that started it: the rank dies with it, reports when the result is
printed, and uses its command line as the job's.
"""

import contextlib
import ctypes
import json
import os
import re
import signal
import sys

LAUNCHER_PID, REPORT_FD = "RAILGAUGE_LAUNCHER_PID", "RAILGAUGE_REPORT_FD"
COMMAND = "RAILGAUGE_COMMAND"
"""The launcher's own arguments, a JSON list: what its user typed. All processes that it starts have it, on every
host."""
X_FLAG = re.compile(r"-[A-Za-z]*x|--export")
"""-x, alone or after flags without a value, or its long name; what follows is a variable."""
X_VALUE = re.compile(r"(-[A-Za-z]*?x|--export=)(.*)", re.DOTALL)
"""The same with its variable in one word."""
SHOWN = "NCCL_"
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def is_tethered() -> bool:
    """Whether railgauge's launcher on this host started this process."""
    return LAUNCHER_PID in os.environ


def is_launched() -> bool:
    """Whether railgauge's launcher, on this host or another, started this process."""
    return COMMAND in os.environ


def command_line() -> list[str]:
    """The arguments as the user of this job typed them: the launcher's, else this process's own.

    It goes into documents, which are shared: of `-x NAME=VALUE` the value is left out unless it is a setting of NCCL's.
    """
    with contextlib.suppress(ValueError):
        typed = json.loads(os.environ.get(COMMAND, ""))
        if isinstance(typed, list) and typed and all(isinstance(word, str) for word in typed):
            return typed
    return [_shown(word, before) for before, word in zip(sys.argv, sys.argv[1:], strict=False)]


def _shown(word: str, before: str) -> str:
    joined = X_VALUE.fullmatch(word)
    flag, variable = joined.groups() if joined else ("", word if X_FLAG.fullmatch(before) else "")
    name, given, _ = variable.partition("=")
    return f"{flag}{name}=..." if given and not name.startswith(SHOWN) else word


def die_with_parent() -> None:
    """Ask the kernel to kill this rank when its launcher dies, however that happens."""
    if not is_tethered():
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if str(os.getppid()) != os.environ[LAUNCHER_PID]:
        os._exit(128 + signal.SIGKILL)  # it died before the request


def hear_interrupts_once() -> None:
    """Let Ctrl-C raise KeyboardInterrupt only once in a process that railgauge's launcher started: the launcher
    forwards what the terminal has already sent to all, and the run reports how far it got meanwhile.
    """

    def hear(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    if is_tethered():
        signal.signal(signal.SIGINT, hear)


def report_is_out() -> None:
    """Report to the launcher that rank 0 has printed the result."""
    with contextlib.suppress(ValueError, OSError):  # a launcher that is gone needs no report
        if is_tethered() and (fd := os.environ.get(REPORT_FD)):
            os.write(int(fd), b".")
