# SPDX-License-Identifier: Apache-2.0
"""What torch's calls return: a handle to wait for, with a future."""

import contextlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import timedelta
from typing import Any, Protocol

import torch
from torch._C._distributed_c10d import Work as WorkOfTorch


class Pending(Protocol):
    """An operation of the engine under way."""

    def is_completed(self) -> bool:
        """Whether it has ended, successfully or not."""

    def wait(self, timeout: float | None = None) -> Any:
        """Wait until it has ended; raises its error, or WaitTimeoutError after `timeout` seconds."""


class PythonWork(WorkOfTorch):  # type: ignore[misc]
    """A work of ours. Of one that its program drops, torch may keep the part in C++, and wait for it later, as DDP's
    join does; without the part in Python it would wait for ever.
    """

    kept_in: "deque[Any] | None" = None
    """Where it goes when it is dropped; None: nothing is waited for any more."""

    def __del__(self) -> None:
        if self.kept_in is not None:
            self.kept_in.append(self)


class TorchWork(PythonWork):
    """An operation on CPU tensors. `wait` raises DistBackendError if it failed."""

    def __init__(
        self,
        result: list[Any],
        pending: Pending | None = None,
        wait: Callable[[float | None], None] = lambda _: None,
        waiters: Executor | None = None,
    ) -> None:
        """`wait(seconds)` waits for `pending`, and raises torch's errors; without them it is completed. `waiters` are
        threads that wait for what has a future.
        """
        super().__init__()
        self._result, self._pending, self._wait, self._waiters = result, pending, wait, waiters
        self._error: BaseException | None = None
        self._future: Any = None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it has ended, for `timeout` at most; without one, or with 0, for the group's."""
        limit = timeout.total_seconds() if timeout else 0
        self.kept_in = None
        try:
            self._wait(limit if limit > 0 else None)
        except Exception as error:
            self._error = error
            raise
        return True

    def synchronize(self) -> None:
        """As `wait`."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self._pending is None or self._pending.is_completed()

    def is_success(self) -> bool:
        """Whether it has ended successfully."""
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        """Its error, if it has failed."""
        if self._error is None and self.is_completed():
            with contextlib.suppress(Exception):
                self.wait()
        return self._error

    def result(self) -> list[Any]:
        """The tensors that it writes."""
        return self._result

    def source_rank(self) -> int:
        """The rank in the group whose message a receive took."""
        return int(getattr(self._pending, "source", -1))

    _source_rank = source_rank

    def get_future(self) -> Any:
        """A future with `result()`."""
        if self._future is None:
            self._future = torch.futures.Future()
            if self._waiters is None or self.is_completed():
                self._fulfil(self._future)
            else:  # callbacks of the future may call operations, which must not wait for the thread that runs them
                self._waiters.submit(self._fulfil, self._future)
        return self._future

    def _fulfil(self, future: Any) -> None:
        try:
            self.wait()
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(self._result)


class WorksTogether(WorkOfTorch):  # type: ignore[misc]
    """The works of a block of calls, waited for as one."""

    def __init__(self, works: list[Any]) -> None:
        super().__init__()
        self._works = works

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until all have ended."""
        for work in self._works:
            work.wait(timeout)
        return True

    def is_completed(self) -> bool:
        """Whether all have ended."""
        return all(work.is_completed() for work in self._works)

    def get_future(self) -> Any:
        """A future with the tensors of all."""
        together = torch.futures.collect_all([work.get_future() for work in self._works])
        return together.then(lambda done: [tensor for one in done.value() for tensor in one.value()])
