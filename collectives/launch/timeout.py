# SPDX-License-Identifier: Apache-2.0
"""The limits of a job's timeout."""

from railgauge.topo.errors import UsageError

LEAST_S, MOST_S = 0.5, 1e6


def check_timeout(seconds: float) -> None:
    """Reject a timeout out of bounds or NaN.

    Raises:
        UsageError: it is out of bounds.
    """
    if not LEAST_S <= seconds <= MOST_S:
        raise UsageError(f"timeout (--timeout) is {seconds:g} s: expected {LEAST_S:g} to {MOST_S:g} seconds")
