# SPDX-License-Identifier: Apache-2.0
"""What ties a rank to the launcher of ours that started it: it dies with it, and tells it when the result is out."""

import ctypes
import os
import signal

LAUNCHER_PID, REPORT_FD = "RAILGAUGE_LAUNCHER_PID", "RAILGAUGE_REPORT_FD"
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def is_tethered() -> bool:
    """Whether a launcher of ours on this host started this process."""
    return LAUNCHER_PID in os.environ


def die_with_parent() -> None:
    """Ask the kernel to kill this rank when its launcher dies, however that happens."""
    if not is_tethered():
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(os.environ[LAUNCHER_PID]):
        os._exit(128 + signal.SIGKILL)  # it died before we asked


def report_is_out() -> None:
    """Tell the launcher that rank 0 has printed the result."""
    if fd := os.environ.get(REPORT_FD):
        os.write(int(fd), b".")
