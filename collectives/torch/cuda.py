# SPDX-License-Identifier: Apache-2.0
"""Operations on CUDA tensors, on the caller's stream, or on one of the group's with `async_op`.

The engine's operations between GPUs are put on a stream and return at once. What they lack (some reductions, receives
from any rank) is refused by name.
"""

import contextlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import torch
from torch.distributed import DistBackendError

from railgauge.collectives.torch.call import TorchCall, TorchMessage
from railgauge.collectives.torch.operations import Engine
from railgauge.collectives.torch.work import PythonWork
from railgauge.topo.errors import Error, UsageError

NOTHING = contextlib.nullcontext()


Handle: TypeAlias = tuple[int, int, int]
"""A stream as torch's C code has it: its id, the number of its GPU, and the type of the device."""


def current_handle(device: int) -> Handle:
    """The current stream of a GPU."""
    handle: Handle = torch._C._cuda_getCurrentStream(device)
    return handle


@lru_cache(maxsize=64)  # torch has 32 a GPU and priority
def stream_of(handle: Handle) -> Any:
    """The object of a stream."""
    number, index, kind = handle
    return torch.cuda.Stream(stream_id=number, device_index=index, device_type=kind)


def current_stream(device: int) -> Any:
    """The current stream of a GPU. Torch's own call makes an object each time, which takes 3 us."""
    return stream_of(current_handle(device))


class OnStream:
    """`torch.cuda.stream`, which makes objects of streams for 9 us."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream.stream_id, stream.device_index, stream.device_type

    def __enter__(self) -> None:
        index, here = self._stream[1], torch._C._cuda_getDevice()
        self._before = [current_handle(one) for one in ((index,) if index == here else (index, here))]
        _set_current(self._stream)

    def __exit__(self, *error: object) -> None:
        for handle in self._before:
            _set_current(handle)


def _set_current(handle: Handle) -> None:
    """Make a stream, and its GPU, the current ones."""
    number, index, kind = handle
    torch._C._cuda_setStream(stream_id=number, device_index=index, device_type=kind)


class CudaWork(PythonWork):
    """An operation on a stream: waiting for it makes the current stream wait, not the program."""

    _stream: Any = None
    _event: Any = None
    _future: Any = None

    def __init__(self, result: list[Any], put: Callable[[], None] = lambda: None) -> None:
        """`put` puts it on its stream, where that is not done yet when somebody asks for it."""
        super().__init__()
        self._result, self._put = result, put

    def on(self, stream: Any, event: Any) -> "CudaWork":
        """It is on a stream, and done at the event."""
        self._stream, self._event = stream, event
        return self

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Let the current stream wait for it."""
        self.kept_in = None
        stream = self._on_stream()
        self._event.wait(current_stream(stream.device_index))
        return True

    def synchronize(self) -> None:
        """As `wait`."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether the GPU has done it."""
        self._on_stream()
        return bool(self._event.query())

    def is_success(self) -> bool:
        """Whether the GPU has done it; a failure is raised by the next call."""
        return self.is_completed()

    def exception(self) -> BaseException | None:
        """None: a failure is raised by the next call."""
        return None

    def result(self) -> list[Any]:
        """The tensors that it writes."""
        return self._result

    def get_future(self) -> Any:
        """A future with `result()`, whose callbacks run on streams that wait for it."""
        if self._future is None:
            stream = self._on_stream()
            self._future = torch._C.Future([stream.device])  # as PyTorch's own works have it
            with OnStream(stream):
                self._future.set_result(self._result)
        return self._future

    def _on_stream(self) -> Any:
        """The stream that it is on, from now on."""
        if self._stream is None:
            self._put()
        if self._stream is None:
            raise DistBackendError("railgauge: a send or receive was not started: one that was called with it failed")
        return self._stream


class CudaWorkOnCallersStream(CudaWork):
    """An operation on the stream that was the caller's when it was called: nothing waits for it there, and its event is
    recorded once somebody asks for it.
    """

    handle: Handle
    """Of that stream."""

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Let the current stream wait for it, if it is another one."""
        return current_handle(self.handle[1]) == self.handle or super().wait()

    def _on_stream(self) -> Any:
        if self._stream is None:
            stream = stream_of(self.handle)
            self.on(stream, stream.record_event())
        return self._stream


class JoinedGpus(NamedTuple):
    """The GPUs of all ranks of a group."""

    communicator: Any
    close: Callable[[BaseException | None], None]
    """Leave; after an error, which is reported to the others, without waiting for them."""


class CudaOperations:
    """One rank's calls between GPUs; the first makes the communicator, with all ranks of the group."""

    def __init__(self, join: Callable[[int], JoinedGpus]) -> None:
        """`join(device)` joins the GPUs of all ranks; `device` is CUDA's number of this one."""
        self._join = join
        self._joined: JoinedGpus | None = None
        self._device: Any = None
        self._side: Any = None
        self._ready: Any = None
        """Of the caller's stream, after which the group's begins the call under way; one event for all calls."""
        self._messages: list[tuple[TorchCall, TorchMessage, Any, CudaWork]] = []
        """Sends and receives that are not on the stream yet, each with the event after which its tensor is ready."""

    def connect(self, device: Any) -> Any:
        """The engine's communicator of the GPUs of all ranks, which all call it; the first call joins them.

        Raises:
            UsageError: this rank's GPU in the group is another one. RunError: some ranks did not join.
        """
        if self._joined is None:
            self._joined, self._device = self._join(device.index), device
        elif device != self._device:
            raise UsageError(f"a tensor on {device}: this rank's GPU in the group is {self._device}")
        return self._joined.communicator

    def put_as_is(self, asked: Engine) -> bool:
        """Put a collective on the current stream, unless its tensors need preparation; whether it did."""
        return not self._messages and self._joined is not None and self._joined.communicator.put_at_once(*asked)

    def start_as_is(self, asked: Engine) -> CudaWork | None:
        """The same on the group's stream. None: it was not put."""
        if self._joined is None or self._messages:
            return None
        side = self._side_stream(self._device)
        mark = self._joined.communicator.put_aside(*asked, side.cuda_stream)
        if mark is None:
            return None
        _, source, destination, *_ = asked
        _keep([source, destination], side)
        return CudaWork([destination]).on(side, mark)

    def preparing(self, device: Any, *, is_async: bool) -> contextlib.AbstractContextManager[Any]:
        """Prepare and start an operation on its stream, so that what it allocates is freed in that stream's order."""
        if self._messages:
            self.put_messages()
        if not is_async:
            return NOTHING
        return OnStream(self._following_stream(device))

    def start(self, call: TorchCall) -> CudaWork:
        """Put a collective on the stream that it was prepared on."""
        tensors = [*call.operation.inputs, *call.operation.outputs]
        try:
            device = _device_of(tensors)
            communicator = self.connect(device)
            if call.entry:
                call.entry.begin()
            call.operation.run(communicator)
        except Error as error:
            raise call.errors.of(error) from error
        if not call.is_async:
            work = CudaWorkOnCallersStream(call.result)
            work.handle = current_handle(device.index)
            return work
        _keep(tensors, self._side)
        return CudaWork(call.result).on(self._side, self._side.record_event())

    def transfer(self, call: TorchCall, message: TorchMessage) -> CudaWork:
        """Begin a send or receive. It is put on the group's stream with all others that were called until one of them
        is waited for, or another operation of the group is called: the engine runs its operations one after another,
        and ranks that send to each other before they receive would wait for each other.
        """
        tensors = [*call.operation.inputs, *call.operation.outputs]
        with call.errors:
            if message.peer is None:
                raise UsageError("a receive of a CUDA tensor from any rank: name the rank")
            self.connect(tensors[0].device)
        ready = current_stream(self._device.index).record_event()
        work = CudaWork(call.result, self.put_messages)
        self._messages.append((call, message, ready, work))
        return work

    def put_messages(self) -> None:
        """Put the sends and receives that were called on the group's stream, all at the same time."""
        messages, self._messages = self._messages, []
        if not messages:
            return
        side = self._side_stream(self._device)
        with messages[0][0].errors, torch.cuda.device(self._device), OnStream(side):
            with self.communicator.group():
                for call, (array, peer, tag, sends), ready, _ in messages:
                    side.wait_event(ready)
                    call.begin()
                    (self.communicator.isend if sends else self.communicator.irecv)(array, peer, tag)
            done = side.record_event()
        for call, _, _, work in messages:
            _keep([*call.operation.inputs, *call.operation.outputs], side)
            work.on(side, done)

    def synchronize(self) -> None:
        """Wait until this rank's GPU has done what was called before."""
        self.put_messages()
        if self._joined:
            current_stream(self._device.index).synchronize()
        if self._side:
            self._side.synchronize()

    def close(self, error: BaseException | None = None) -> None:
        """Leave."""
        if error is None:
            self.put_messages()
        if self._joined:
            self._joined.close(error)

    @property
    def communicator(self) -> Any:
        """The engine's; None before the GPUs are joined."""
        return self._joined and self._joined.communicator

    def _following_stream(self, device: Any) -> Any:
        """The group's stream, which does what follows after all that is on the current one."""
        side = self._side_stream(device)
        self._ready.record(current_stream(device.index))
        side.wait_event(self._ready)
        return side

    def _side_stream(self, device: Any) -> Any:
        if self._side is None:
            self._side, self._ready = torch.cuda.Stream(device), torch.cuda.Event()
        return self._side


def _device_of(tensors: Sequence[Any]) -> Any:
    """The GPU of an operation's tensors; UsageError: they are not on one device."""
    device = tensors[0].device
    for one in tensors:
        if (other := one.device) != device:
            raise UsageError(f"tensors on {device} and {other}: expected one device")
    return device


def _keep(tensors: Sequence[Any], stream: Any) -> None:
    """Let no tensor's memory be used again before the stream has used it."""
    for tensor in {id(one): one for one in tensors}.values():  # in place: input and output
        tensor.record_stream(stream)
