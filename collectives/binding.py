# SPDX-License-Identifier: Apache-2.0
"""Binds a rank to its cores: two ranks that poll on one core alternate in turns of milliseconds, beside an idle
core.
"""

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence

from railgauge.transports.peer import Peer


@contextlib.contextmanager
def bound(peers: Sequence[Peer], rank: int, cpus: Iterable[int]) -> Iterator[None]:
    """Bind the calling thread, and those that it starts, to the cores that the plan has for `rank` (`Plan.cpus`).

    Not if the ranks of its host may use different cores: then a launcher or taskset has bound them one by one. At the
    end the thread's affinity is restored.
    """
    thread, own = threading.get_native_id(), peers[rank]
    before = os.sched_getaffinity(thread)
    bound_before = any(peer.cpus != own.cpus for peer in peers if peer.host_id == own.host_id)
    usable = before & set(cpus)
    if bound_before or not usable:
        yield
        return
    os.sched_setaffinity(thread, usable)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):  # the thread may have ended, and another one closes
            os.sched_setaffinity(thread, before)
