# SPDX-License-Identifier: Apache-2.0
"""Operations on CPU tensors: in the order of their calls, by the caller or on a thread of the group."""

import contextlib
import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from torch.distributed import DistBackendError

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.operation_order import OperationOrder
from railgauge.collectives.torch.call import TorchCall, TorchMessage
from railgauge.collectives.torch.result_check import ResultCheck
from railgauge.collectives.torch.work import Pending, TorchWork
from railgauge.topo.errors import WaitTimeoutError

NOTHING = contextlib.nullcontext()
MOST_WAITERS = 1024
"""Futures that are waited for at once; a thread each, made when it is needed."""


class HostOperations:
    """One rank's calls on a communicator in host memory. For any threads, which take turns."""

    def __init__(self, communicator: Communicator, timeout_s: float, job_timeout_s: float, check: ResultCheck) -> None:
        """`timeout_s` is the longest wait of an operation here, `job_timeout_s` what the engine itself waits."""
        self._communicator = communicator
        self._timeout_s, self._job_timeout_s = timeout_s, job_timeout_s
        self._check = check
        self._order = OperationOrder("torch-works")
        self._turn = threading.Lock()
        self._waiters = ThreadPoolExecutor(MOST_WAITERS, thread_name_prefix="torch-futures")

    def preparing(self, device: Any, *, is_async: bool) -> contextlib.AbstractContextManager[None]:
        """Nothing is to be done before an operation is prepared and started."""
        return NOTHING

    def start(self, call: TorchCall) -> TorchWork:
        """Run a collective, or with `call.is_async` begin it."""
        limit = self._limit(call.timeout_s)

        def run() -> None:
            call.begin()
            call.operation.run(self._communicator)
            self._check.after(call, self._communicator)
            call.complete()

        with self._turn, call.errors:
            pending = self._order.start(run, None, async_op=call.is_async or limit is not None)
        if pending is None:
            return TorchWork(call.result)
        work = self._work(call, pending, limit)
        if not call.is_async:
            work.wait()
        return work

    def transfer(self, call: TorchCall, message: TorchMessage) -> TorchWork:
        """Begin a send or receive."""
        start: Callable[..., Any] = self._communicator.isend if message.sends else self._communicator.irecv
        with call.errors:
            pending = start(*message[:3])
        call.begin()
        return self._work(call, pending, self._limit(None), in_messages=True)

    def abort(self) -> None:
        """End this rank's operations; any thread may call it."""
        self._communicator.abort()

    def close(self) -> None:
        """Finish what is under way, and end."""
        self._order.close()
        self._communicator.close()
        self._waiters.shutdown()

    def _limit(self, timeout_s: float | None) -> float | None:
        """The seconds after which this rank gives up an operation; None: the engine does by itself."""
        limit = timeout_s or self._timeout_s
        return limit if limit < self._job_timeout_s else None

    def _work(self, call: TorchCall, pending: Pending, limit: float | None, *, in_messages: bool = False) -> TorchWork:
        wait = functools.partial(self._wait, call, pending, limit, in_messages)
        return TorchWork(call.result, pending, wait, self._waiters)

    def _wait(
        self, call: TorchCall, pending: Pending, limit: float | None, in_messages: bool, seconds: float | None
    ) -> None:
        """Wait for `seconds` at most, after which the caller may wait again, or for `limit`, which ends the run."""
        until = seconds if limit is None or (seconds is not None and seconds < limit) else limit
        try:
            with call.errors:
                pending.wait(until)
            if in_messages:
                call.complete()
        except DistBackendError as error:
            late = error.__cause__
            if not isinstance(late, WaitTimeoutError) or until is None:
                raise
            if until == limit:
                late = self._communicator.give_up(late, in_messages=in_messages)
            raise DistBackendError(f"railgauge: {call.errors.where}: timeout after {until:g} s: {late}") from late
