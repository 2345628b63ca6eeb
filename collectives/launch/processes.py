# SPDX-License-Identifier: Apache-2.0
"""The rank processes of one host: waiting for them, ending them, and the job's status from theirs."""

import contextlib
import signal
import time
from collections.abc import Callable, Mapping
from multiprocessing.process import BaseProcess

from railgauge.topo.errors import UnavailableError

GRACE_SHARE, LEAST_GRACE_S, MOST_GRACE_S = 0.1, 1.0, 5.0
POLL_S = 0.02
NO_ROOM = 127
"""How glibc ends a process that has no memory for the data of a thread."""
Ranks = Mapping[int, BaseProcess]


def grace_s(timeout_s: float) -> float:
    """How long the other ranks may take to end by themselves once one has failed: a share of the timeout, within
    limits.
    """
    return min(max(GRACE_SHARE * timeout_s, LEAST_GRACE_S), MOST_GRACE_S)


def wait(ranks: Ranks, within_s: float, pause: Callable[[float], None] = time.sleep) -> tuple[int, str | None]:
    """Wait until all have ended, or one has failed and the others have had `within_s` seconds to end by themselves.

    Args:
        ranks: the processes by rank; those that are late are killed.
        within_s: for the others, once one has failed (grace_s).
        pause: waits some seconds; what it raises ends the wait.

    Returns:
        The exit status for the shell, and messages about ranks that did not end by themselves.
    """
    deadline: float | None = None
    late: list[int] = []
    while None in (codes := [process.exitcode for process in ranks.values()]):
        if deadline is None and any(codes):
            deadline = time.monotonic() + within_s
        if deadline is not None and time.monotonic() > deadline:
            late = [rank for rank, process in ranks.items() if process.exitcode is None]
            kill(ranks)
            break
        pause(POLL_S)
    return _verdict({rank: process.exitcode or 0 for rank, process in ranks.items()}, late)


def kill(ranks: Ranks) -> None:
    """Kill those that still run; none is left on return."""
    for process in ranks.values():
        if process.exitcode is None:
            process.kill()
    for process in ranks.values():
        process.join()


def _verdict(codes: dict[int, int], late: list[int]) -> tuple[int, str | None]:
    if any(code in (130, -signal.SIGINT) for code in codes.values()):
        return 130, None
    killed = {rank: -code for rank, code in codes.items() if code < 0 and rank not in late}
    notes = [f"rank {rank} was killed by {_signal_name(number)}" for rank, number in killed.items()]
    starved = [rank for rank, code in codes.items() if code == NO_ROOM]
    notes += [f"rank {rank} had no memory for the data of a thread: check ulimit -v" for rank in starved]
    codes |= dict.fromkeys(starved, UnavailableError.exit_status)
    # Ranks that were only stopped end with 4; one that ended otherwise is the cause, late ones are its effect.
    cause = next((code for code in codes.values() if code > 0 and code != 4), None)
    if cause is None:
        notes += [f"rank {rank} was killed because it did not end by itself" for rank in late]
    return cause or (4 if any(codes.values()) else 0), "; ".join(notes) or None


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return f"signal {number} ({signal.Signals(number).name})"
    return f"signal {number}"
