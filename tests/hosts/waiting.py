# SPDX-License-Identifier: Apache-2.0
"""Waiting for other processes."""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from tests.patience import HANGS_AFTER_S

T = TypeVar("T")


def until(condition: Callable[[], T]) -> T:
    """The condition's value once it is true; it fails a test that waits for HANGS_AFTER_S."""
    deadline = time.monotonic() + HANGS_AFTER_S
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)
    return found


def until_at_work(processes: Iterable[int]) -> None:
    """Until each of these, by its id, has used some of a core's time from now on: it is past its start."""
    before = {process: cpu_s(process) for process in processes}
    until(lambda: all(cpu_s(process) > began + 0.1 for process, began in before.items()))


def cpu_s(process: int) -> float:
    """What it has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
