# SPDX-License-Identifier: Apache-2.0
"""Operations on CUDA tensors, on the caller's stream, or on one of the group's with `async_op`.

The engine's collectives between GPUs are put on a stream and return at once. It has no send and receive there, which
are refused by name, as are its missing element types.
"""

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import torch
from torch._C._distributed_c10d import Work as WorkOfTorch

from railgauge.collectives.torch.call import TorchCall
from railgauge.collectives.torch.errors import TorchErrors
from railgauge.collectives.torch.job import TorchJob
from railgauge.topo.errors import UsageError


class CudaWork(WorkOfTorch):  # type: ignore[misc]
    """An operation on a stream: waiting for it makes the current stream wait, not the program."""

    def __init__(self, result: list[Any], stream: Any, event: Any) -> None:
        super().__init__()
        self._result, self._stream, self._event = result, stream, event
        self._future: Any = None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Let the current stream wait for it."""
        torch.cuda.current_stream(self._stream.device).wait_event(self._event)
        return True

    def synchronize(self) -> None:
        """As `wait`."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether the GPU has done it."""
        return bool(self._event.query())

    def result(self) -> list[Any]:
        """The tensors that it writes."""
        return self._result

    def get_future(self) -> Any:
        """A future with `result()`, whose callbacks run on streams that wait for it."""
        if self._future is None:
            self._future = torch.futures.Future(devices=[self._stream.device])
            with torch.cuda.stream(self._stream):
                self._future.set_result(self._result)
        return self._future


class CudaOperations:
    """One rank's calls between GPUs; the first makes the communicator, with all ranks of the group."""

    def __init__(self, join: Callable[[int], TorchJob]) -> None:
        """`join(device)` joins the GPUs of all ranks; `device` is CUDA's number of this one."""
        self._join = join
        self._job: TorchJob | None = None
        self._side: Any = None

    @contextlib.contextmanager
    def preparing(self, device: Any, *, is_async: bool) -> Iterator[None]:
        """Prepare and start an operation on its stream, so that what it allocates is freed in that stream's order."""
        with torch.cuda.device(device):
            stream = torch.cuda.current_stream(device)
            if is_async:
                self._side = self._side or torch.cuda.Stream(device)
                self._side.wait_stream(stream)
                stream = self._side
            with torch.cuda.stream(stream):
                yield

    def start(self, call: TorchCall) -> CudaWork:
        """Put a collective on the stream that it was prepared on."""
        tensors = [*call.operation.inputs, *call.operation.outputs]
        device = tensors[0].device
        with TorchErrors(call.where):
            if other := next((one.device for one in tensors if one.device != device), None):
                raise UsageError(f"tensors on {device} and {other}: expected one device")
            if self._job is None:
                self._job = self._join(device.index)
            stream = torch.cuda.current_stream(device)
            call.begin()
            call.operation.run(self._job.process_group.communicator)
        if call.is_async:
            for tensor in tensors:
                tensor.record_stream(stream)
        return CudaWork(call.result, stream, stream.record_event())

    def transfer(self, call: TorchCall, begin: Callable[[Any], Any]) -> CudaWork:
        """There is none.

        Raises:
            ValueError: always.
        """
        with TorchErrors(call.where):
            raise UsageError(
                "sends and receives of CUDA tensors are not supported: "
                "use backend='cpu:railgauge,cuda:nccl', or send a copy in host memory"
            )

    def synchronize(self) -> None:
        """Wait until this rank's GPU has done what was called before."""
        if self._job:
            torch.cuda.current_stream().synchronize()
        if self._side:
            self._side.synchronize()

    def close(self, error: BaseException | None = None) -> None:
        """Leave."""
        if self._job:
            self._job.close(error)
