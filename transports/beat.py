# SPDX-License-Identifier: Apache-2.0
"""How often the hub and the ranks show that they are alive, and after what silence the other end is lost."""

BEATS_PER_TIMEOUT = 10
SILENT_SHARE = 0.6
"""The other end is lost after this share of the timeout without a beat: before the waits on it reach theirs."""
SILENT_BEATS = 6
"""At least this many of the hub's beats."""


def beat_interval(timeout_s: float) -> float:
    """Seconds between two beats."""
    return min(1.0, timeout_s / BEATS_PER_TIMEOUT)
