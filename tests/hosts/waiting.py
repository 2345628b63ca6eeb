# SPDX-License-Identifier: Apache-2.0
"""Waiting for what other processes do."""

import time
from collections.abc import Callable
from typing import TypeVar

from tests.patience import HANGS_AFTER_S

T = TypeVar("T")


def until(condition: Callable[[], T]) -> T:
    """What the condition gives once that is true; it fails a test that waits for HANGS_AFTER_S."""
    deadline = time.monotonic() + HANGS_AFTER_S
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)
    return found
