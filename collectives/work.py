# SPDX-License-Identifier: Apache-2.0
"""Asynchronous operations: a handle for each, and the thread that runs them."""

import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any

from railgauge.topo.errors import WaitTimeoutError


class Work:
    """One asynchronous operation. Its arrays must not be touched until it is completed."""

    def __init__(self, run: Callable[[], None], destination: Any) -> None:
        self._run: Callable[[], None] | None = run
        self._destination = destination
        self._error: BaseException | None = None
        self._completed = threading.Event()

    def is_completed(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self._completed.is_set()

    def wait(self, timeout: float | None = None) -> Any:
        """Wait until it has ended, and return its destination.

        Args:
            timeout: the most seconds to wait here; without it until the operation ends, whose waits have the
                communicator's timeout.

        Raises:
            WaitTimeoutError: it is still running after `timeout`; wait again.
            RunError: it failed, as it would have without async_op.
        """
        if not self._completed.wait(timeout):
            raise WaitTimeoutError(f"the operation is still running after {timeout:g} s")
        if self._error:
            raise self._error.with_traceback(None)  # the traceback would grow with every wait
        return self._destination

    @property
    def destination(self) -> Any:
        """What it is for; of a `Making` None until it is completed."""
        return self._destination

    def join(self) -> None:
        """Wait until it has ended, successfully or not."""
        self._completed.wait()

    def run(self) -> None:
        """Run it; called by the thread whose turn it is. Raises only what a signal's handler does, such as
        KeyboardInterrupt.
        """
        assert self._run
        try:
            self._run()
        except BaseException as error:
            self._error = error
            if not isinstance(error, Exception):
                raise
        finally:
            self._run = None  # with the arrays that it holds
            self._completed.set()


class Making(Work):
    """Something that is made in the background; `wait()` returns it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__(self._make, None)
        self._how: Callable[[], Any] | None = make

    def _make(self) -> None:
        how, self._how = self._how, None
        assert how
        self._destination = how()


class WorkQueue:
    """Runs works one after another, on a thread of its own that ends with this object."""

    def __init__(self, name: str) -> None:
        self._waiting: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._last: Work | None = None
        self._thread = threading.Thread(target=_run_all, args=(self._waiting,), name=name, daemon=True)
        self._thread.start()
        self._end = weakref.finalize(self, self._waiting.put, None)

    @property
    def is_idle(self) -> bool:
        """Whether everything has ended that was put here."""
        return self._last is None or self._last.is_completed()

    def put(self, work: Work) -> None:
        """Run it after all others."""
        self._last = work
        self._waiting.put(work)

    def drain(self) -> None:
        """Wait until everything has ended that was put here."""
        if self._last:
            self._last.join()

    def close(self) -> None:
        """Run what is there, and end."""
        self._end()
        self._thread.join()


def _run_all(waiting: queue.SimpleQueue[Work | None]) -> None:
    while work := waiting.get():
        work.run()
        del work
