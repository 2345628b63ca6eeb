# SPDX-License-Identifier: Apache-2.0
"""How long a job may be told to wait for its ranks."""

from railgauge.topo.errors import UsageError

LEAST_S, MOST_S = 0.5, 1e6


def check_timeout(seconds: float) -> None:
    """Refuse a timeout that no job can have, NaN among them.

    Raises:
        UsageError: it is out of bounds.
    """
    if not LEAST_S <= seconds <= MOST_S:
        raise UsageError(f"timeout (--timeout) is {seconds:g} s: it has to be from {LEAST_S:g} to {MOST_S:g} seconds")
