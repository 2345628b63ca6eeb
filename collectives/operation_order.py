# SPDX-License-Identifier: Apache-2.0
"""The order of one communicator's operations: run by the caller, in the background, or collected into a group."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from railgauge.collectives.messages import MessageWork
from railgauge.collectives.work import Work, WorkQueue
from railgauge.topo.errors import UsageError


class OperationOrder:
    """Runs operations in the order of their calls; `name` is that of the thread for those in the background."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: WorkQueue | None = None
        self._collected: list[tuple[Work, bool]] | None = None
        self._transfers: list[MessageWork] = []
        """Sends and receives that were started within a group, and are waited for at its end."""

    @property
    def is_direct(self) -> bool:
        """Whether none was put into the background so far, and none is being collected."""
        return self._queue is None and self._collected is None

    def start(self, run: Callable[[], None], destination: Any, *, async_op: bool) -> Any:
        """Run one, now or when its turn comes; returns its Work with `async_op`, else its destination."""
        if not async_op and self._collected is None and self._is_idle:
            run()
            return destination
        return self.put(Work(run, destination), async_op=async_op)

    def put(self, work: Work, *, async_op: bool) -> Any:
        """Run a work when its turn comes; returns it with `async_op`, else what it was for."""
        if self._collected is not None:
            self._collected.append((work, async_op))
            return work if async_op else work.destination
        self._begin(work)
        return work if async_op else work.wait()

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect what is started within, and run it at the end; nothing if an exception leaves the block."""
        if self._collected is not None:
            yield
            return
        self._collected = []
        try:
            yield
            collected = self._collected
        finally:
            self._collected = None
            transfers, self._transfers = self._transfers, []
        in_turn = any(in_background for _, in_background in collected) or not self._is_idle
        for work, _ in collected:
            self._begin(work) if in_turn else work.run()
        for work, in_background in collected:
            if not in_background:
                work.wait()
        for transfer in transfers:
            transfer.wait()

    def finish(self, transfer: MessageWork) -> bool:
        """Wait for a send or receive now, or within a group at its end; returns whether it is done."""
        if self._collected is None:
            transfer.wait()
            return True
        self._transfers.append(transfer)
        return False

    def drain(self) -> None:
        """Wait for operations in the background; UsageError while some are being collected."""
        if self._collected is not None:
            raise UsageError("this call cannot be part of a group of operations: call it before or after the group")
        if self._queue:
            self._queue.drain()

    def close(self) -> None:
        """Finish pending operations, and end."""
        if self._queue:
            self._queue.close()

    @property
    def _is_idle(self) -> bool:
        return self._queue is None or self._queue.is_idle

    def _begin(self, work: Work) -> None:
        self._queue = self._queue or WorkQueue(self._name)
        self._queue.put(work)
