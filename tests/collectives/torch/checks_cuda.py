# SPDX-License-Identifier: Apache-2.0
"""What operations on CUDA tensors ask of streams, on stand-ins: which runs, which waits for which, what is kept."""

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from unittest import mock

import pytest
import torch

from railgauge.collectives.torch.call import TorchCall
from railgauge.collectives.torch.cuda import CudaOperations
from railgauge.collectives.torch.operations import TorchOperation


class Streams:
    """CUDA as far as it is used, with a log of what was asked."""

    def __init__(self):
        self.log = []
        self.current = self.stream("current")
        self.device = SimpleNamespace(type="cuda", index=3)

    def stream(self, name):
        return SimpleNamespace(
            name=name,
            device="cuda:3",
            wait_stream=lambda other: self.log.append(f"{name} waits for {other.name}"),
            wait_event=lambda event: self.log.append(f"{name} waits for {event}"),
            record_event=lambda: f"event of {name}",
            synchronize=lambda: self.log.append(f"program waits for {name}"),
        )

    @contextmanager
    def using(self, stream):
        self.current, before = stream, self.current
        yield
        self.current = before

    def patched(self):
        return mock.patch.multiple(
            torch.cuda,
            device=lambda device: nullcontext(),
            current_stream=lambda device=None: self.current,
            stream=self.using,
            Stream=lambda device: self.stream("side"),
        )

    def tensor(self, device=None):
        return SimpleNamespace(
            device=device or self.device, record_stream=lambda stream: self.log.append(f"kept for {stream.name}")
        )


def call(streams, tensors, *, is_async):
    run = TorchOperation(lambda on: streams.log.append(f"{on} on {streams.current.name}"), tensors[:1], tensors[1:])
    return TorchCall("all_reduce", "rank 0 of group 0: all_reduce", run, tensors, is_async, None, None)


def joined(streams):
    job = SimpleNamespace(process_group=SimpleNamespace(communicator="run"), close=lambda error: None)
    return CudaOperations(lambda device: streams.log.append(f"joins GPU {device}") or job)


def check_a_call_runs_on_the_current_stream(place):
    streams = Streams()
    with streams.patched():
        operations = joined(streams)
        with operations.preparing(streams.device, is_async=False):
            work = operations.start(call(streams, [streams.tensor()], is_async=False))
        assert streams.log == ["joins GPU 3", "run on current"]
        work.wait()
    assert streams.log[2:] == ["current waits for event of current"]


def check_an_async_call_has_a_stream_of_its_own(place):
    streams = Streams()
    with streams.patched():
        operations = joined(streams)
        with operations.preparing(streams.device, is_async=True):
            work = operations.start(call(streams, [streams.tensor()], is_async=True))
        assert streams.log == ["side waits for current", "joins GPU 3", "run on side", "kept for side"]
        work.wait()
        assert streams.log[4:] == ["current waits for event of side"]
        operations.synchronize()
        assert streams.log[5:] == ["program waits for current", "program waits for side"]


def check_what_is_refused(place):
    streams = Streams()
    other = streams.tensor(SimpleNamespace(type="cuda", index=4))
    with streams.patched():
        operations = joined(streams)
        with pytest.raises(ValueError, match="expected one device"):
            operations.start(call(streams, [streams.tensor(), other], is_async=False))
        with pytest.raises(ValueError, match="sends and receives of CUDA tensors are not supported"):
            operations.transfer(call(streams, [streams.tensor()], is_async=True), lambda on: None)
