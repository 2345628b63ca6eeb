# SPDX-License-Identifier: Apache-2.0
"""What operations on CUDA tensors ask of streams, on stand-ins: which runs, which waits for which, what is kept."""

import sys
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import timedelta
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from railgauge.collectives.collectives import ALL_GATHER, ALL_REDUCE, BROADCAST, REDUCE_SCATTER
from railgauge.collectives.dtype import Redop
from railgauge.collectives.torch.call import TorchCall, TorchMessage
from railgauge.collectives.torch.cuda import CudaOperations, JoinedGpus, OnStream, stream_of
from railgauge.collectives.torch.errors import TorchErrors
from railgauge.collectives.torch.group import end_of
from railgauge.collectives.torch.operations import TorchOperation
from railgauge.topo.errors import UsageError

SHORT = timedelta(seconds=1)
"""No longer than the default group's: a group with it is a part of that one."""
MOST_FUNCTIONS = 8
"""Of Python that an all_reduce of a CUDA tensor may call up to the communicator: each takes about 0.1 us, and NCCL's
whole call through torch 40.
"""


class Event:
    """Torch's, and the engine's mark."""

    def __init__(self, stream=None):
        self._stream = stream

    def record(self, stream):
        self._stream = stream

    def wait(self, stream):
        stream.wait_event(self)

    def __str__(self):
        return f"event of {self._stream.name}"


class Streams:
    """CUDA as far as it is used, with a log of what was asked."""

    def __init__(self):
        self.log = []
        self.current = self.stream("current")
        self.device = SimpleNamespace(type="cuda", index=3)
        self.current_device = 3

    def stream(self, name):
        made = SimpleNamespace(
            name=name,
            stream_id=name,
            cuda_stream=f"handle of {name}",
            device_index=3,
            device_type=1,
            device="cuda:3",
            wait_stream=lambda other: self.log.append(f"{name} waits for {other.name}"),
            wait_event=lambda event: self.log.append(f"{name} waits for {event}"),
            synchronize=lambda: self.log.append(f"program waits for {name}"),
        )
        made.record_event = lambda: Event(made)
        return made

    @contextmanager
    def using(self, stream):
        self.current, before = stream, self.current
        yield
        self.current = before

    def patched(self):
        stream_of.cache_clear()
        stack = ExitStack()
        stack.callback(stream_of.cache_clear)
        cuda = mock.patch.multiple(
            torch.cuda,
            device=lambda device: nullcontext(),
            current_stream=lambda device=None: self.current,
            stream=self.using,
            Event=Event,
            Stream=lambda device=None, stream_id="side", **_: self.stream(stream_id),
        )
        handle = mock.patch.object(
            torch._C, "_cuda_getCurrentStream", lambda device: (self.current.name, device, 1), create=True
        )
        device = mock.patch.object(torch._C, "_cuda_getDevice", self.get_device, create=True)
        setting = mock.patch.object(torch._C, "_cuda_setStream", self.set_stream, create=True)
        for one in (cuda, handle, device, setting):
            stack.enter_context(one)
        return stack

    def get_device(self):
        return self.current_device

    def set_stream(self, *, stream_id, device_index, device_type):
        assert (device_index, device_type) == (self.current_device, 1)
        self.current = self.stream(stream_id)

    def tensor(self, device=None):
        return SimpleNamespace(
            device=device or self.device, record_stream=lambda stream: self.log.append(f"kept for {stream.name}")
        )


def call(streams, tensors, *, is_async):
    run = TorchOperation(lambda on: streams.log.append(f"{on} on {streams.current.name}"), tensors[:1], tensors[1:])
    return TorchCall("all_reduce", TorchErrors("rank 0 of group 0: all_reduce"), run, tensors, is_async, None, None)


class Engine:
    """The communicator's sends and receives."""

    def __init__(self, streams):
        self._log, self._streams = streams.log, streams

    def __str__(self):
        return "run"

    @contextmanager
    def group(self):
        self._log.append("group begins")
        yield
        self._log.append("group ends")

    def put_aside(self, *call):
        *_, aside = call
        self._log.append(f"put aside on {aside}")
        return Event(self._streams.stream("side")) if self.takes else None

    takes = True

    def isend(self, array, dst, tag):
        self._log.append(f"send {array} to {dst} with tag {tag} on {self._streams.current.name}")

    def irecv(self, array, src, tag):
        if src == 9:
            raise UsageError("rank 9")
        self._log.append(f"recv {array} from {src} with tag {tag} on {self._streams.current.name}")


def joined(streams):
    engine = Engine(streams)
    gpus = JoinedGpus(engine, lambda error: None)
    return CudaOperations(lambda device: streams.log.append(f"joins GPU {device}") or gpus)


def message(streams, array, peer, *, sends):
    return call(streams, [streams.tensor()], is_async=True), TorchMessage(array, peer, 4, sends)


def check_a_call_runs_on_the_current_stream(place):
    streams = Streams()
    with streams.patched():
        operations = joined(streams)
        with operations.preparing(streams.device, is_async=False):
            work = operations.start(call(streams, [streams.tensor()], is_async=False))
        assert streams.log == ["joins GPU 3", "run on current"]
        work.wait()
        assert streams.log[2:] == [], "a stream waits for itself"
        with streams.using(streams.stream("other")):
            work.wait()
    assert streams.log[2:] == ["other waits for event of current"]


def check_an_async_call_has_a_stream_of_its_own(place):
    streams = Streams()
    with streams.patched():
        operations = joined(streams)
        in_place = [streams.tensor()] * 2
        with operations.preparing(streams.device, is_async=True):
            work = operations.start(call(streams, in_place, is_async=True))
        assert streams.log == ["side waits for event of current", "joins GPU 3", "run on side", "kept for side"]
        work.wait()
        assert streams.log[4:] == ["current waits for event of side"]
        operations.synchronize()
        assert streams.log[5:] == ["program waits for current", "program waits for side"]


def check_an_async_call_as_it_is_has_that_stream_too(place):
    streams = Streams()
    with streams.patched():
        operations = joined(streams)
        engine = operations.connect(streams.device)
        in_place = [streams.tensor()] * 2
        work = operations.start_as_is((ALL_REDUCE, *in_place, Redop.SUM, 0))
        put = "put aside on handle of side"
        assert streams.log[1:] == [put, "kept for side"]
        work.wait()
        assert streams.log[3:] == ["current waits for event of side"]
        assert work.result() == [in_place[1]]
        engine.takes = False
        assert operations.start_as_is((ALL_REDUCE, *in_place, Redop.SUM, 0)) is None
        assert streams.log[4:] == [put]


def check_a_stream_of_another_gpu_is_set_and_taken_back(place):
    here, current = 2, {2: "two", 3: "three"}

    def set_stream(*, stream_id, device_index, device_type):
        nonlocal here
        here, current[device_index] = device_index, stream_id

    cuda = mock.patch.multiple(
        torch._C,
        _cuda_getDevice=lambda: here,
        _cuda_getCurrentStream=lambda device: (current[device], device, 1),
        _cuda_setStream=set_stream,
        create=True,
    )
    with cuda, OnStream(Streams().stream("side")):
        assert (here, current) == (3, {2: "two", 3: "side"})
    assert (here, current) == (2, {2: "two", 3: "three"})


BOTH_AT_ONCE = [
    *("group begins", "side waits for event of current", "send out to 1 with tag 4 on side"),
    *("side waits for event of current", "recv in from 1 with tag 4 on side", "group ends", *["kept for side"] * 2),
]


def check_sends_and_receives_start_together_when_one_is_waited_for(place):
    """Ranks that all send before they receive would wait for each other, if each began at once."""
    streams = Streams()
    with streams.patched():
        operations = joined(streams)
        sent = operations.transfer(*message(streams, "out", 1, sends=True))
        received = operations.transfer(*message(streams, "in", 1, sends=False))
        assert streams.log == ["joins GPU 3"]
        received.wait()
        assert streams.log[1:] == [*BOTH_AT_ONCE, "current waits for event of side"]
        sent.wait()
        assert streams.log[len(BOTH_AT_ONCE) + 2 :] == ["current waits for event of side"]


def check_sends_and_receives_start_before_the_next_operation(place):
    for after in ("preparing", "put_messages", "synchronize", "close"):
        streams = Streams()
        with streams.patched():
            operations = joined(streams)
            operations.transfer(*message(streams, "out", 1, sends=True))
            operations.transfer(*message(streams, "in", 1, sends=False))
            if after == "preparing":
                with operations.preparing(streams.device, is_async=False):
                    pass
            else:
                getattr(operations, after)()
        assert streams.log[1 : len(BOTH_AT_ONCE) + 1] == BOTH_AT_ONCE, after


def check_the_others_of_sends_and_receives_that_fail_say_so(place):
    streams = Streams()
    with streams.patched():
        operations = joined(streams)
        sent = operations.transfer(*message(streams, "out", 1, sends=True))
        received = operations.transfer(*message(streams, "in", 9, sends=False))
        with pytest.raises(ValueError, match=r"rank 0 of group 0: .*rank 9"):
            received.wait()
        with pytest.raises(dist.DistBackendError, match="was not started"):
            sent.wait()


def check_what_is_refused(place):
    streams = Streams()
    other = streams.tensor(SimpleNamespace(type="cuda", index=4))
    with streams.patched():
        operations = joined(streams)
        with pytest.raises(ValueError, match="expected one device"):
            operations.start(call(streams, [streams.tensor(), other], is_async=False))
        with pytest.raises(ValueError, match="from any rank: name the rank"):
            operations.transfer(*message(streams, "in", None, sends=False))
        operations.connect(streams.device)
        with pytest.raises(ValueError, match="this rank's GPU in the group is"):
            operations.start(call(streams, [other], is_async=False))


@contextmanager
def of_meta_tensors(place, name, communicator):
    """A group whose communicator of GPUs is a stand-in, for tensors on `meta`."""
    with place.group(name):
        group = end_of(dist.group.WORLD)
        group._ends.cuda._joined = JoinedGpus(communicator, lambda error: None)
        group._ends.cuda._device, group._others["meta"] = torch.device("meta"), None
        yield group


def synchronous(options):
    options.asyncOp = False
    return options


def check_a_call_runs_few_functions_of_python(place):
    streams, called = Streams(), []
    communicator = SimpleNamespace(put_at_once=lambda *call: streams.log.append(call) or True)
    with of_meta_tensors(place, "few", communicator) as group, streams.patched():
        tensor, options = torch.ones(2, device="meta"), synchronous(c10d.AllreduceOptions())
        group.allreduce([tensor], options)
        sys.setprofile(lambda frame, event, _: event == "call" and called.append(frame.f_code.co_qualname))
        assert group.allreduce([tensor], options) is None  # torch waits for no work
        sys.setprofile(None)
    assert streams.log == [(ALL_REDUCE, tensor, tensor, Redop.SUM, 0)] * 2
    assert len(called) <= MOST_FUNCTIONS, called


def check_which_calls_the_engine_takes_as_they_are(place):
    streams, put, takes = Streams(), [], iter([True] * 4 + [False])
    communicator = SimpleNamespace(
        put_at_once=lambda *call: put.append(call) or next(takes, False),
        all_reduce=lambda array, op: put.append("prepared"),
    )
    with of_meta_tensors(place, "as-is", communicator) as group, streams.patched():
        one, other = torch.ones(2, device="meta"), torch.ones(2, device="meta")
        reducing = synchronous(c10d.AllreduceOptions())
        reducing.reduceOp = dist.ReduceOp.MAX
        group.allreduce([one], reducing)
        group.broadcast([one], synchronous(c10d.BroadcastOptions()))
        group._allgather_base(one, other, synchronous(c10d.AllgatherOptions()))
        group._reduce_scatter_base(one, other, synchronous(c10d.ReduceScatterOptions()))
        assert put == [
            (ALL_REDUCE, one, one, Redop.MAX, 0),
            (BROADCAST, one, one, Redop.SUM, 0),
            (ALL_GATHER, other, one, Redop.SUM, 0),
            (REDUCE_SCATTER, other, one, Redop.SUM, 0),
        ]
        assert group._get_sequence_number_for_group() == 4
        group.allreduce([one], reducing)  # which it refuses now
        group.allreduce([one, other], reducing)
        assert put[5:] == ["prepared"] * 3


def check_a_torch_that_waits_for_each_call_gets_a_work(place):
    communicator = SimpleNamespace(put_aside=lambda *call: None, all_reduce=lambda array, op: None)
    waits = mock.patch("railgauge.collectives.torch.group.WAITS_ALWAYS", True)
    with of_meta_tensors(place, "waits", communicator) as group, Streams().patched(), waits:
        group.allreduce([torch.ones(2, device="meta")], synchronous(c10d.AllreduceOptions())).wait()


def check_gpus_of_a_part_are_divided_or_else_joined(place):
    whole = SimpleNamespace(subset=lambda ranks: SimpleNamespace(ranks=ranks, close=lambda: closed.append(ranks)))
    closed = []
    with place.group("parts"):
        world = end_of(dist.group.WORLD)
        world._ends.cuda._joined = JoinedGpus(whole, lambda error: None)
        part = end_of(dist.new_group([0], timeout=SHORT))
        part.eager_connect_single_device(torch.device("cuda", 3))
        assert part._ends.cuda.communicator.ranks == [0]
        part.shutdown()
        assert closed == [[0]]
        world._ends.cuda._joined = None
        apart = end_of(dist.new_group([0], timeout=SHORT))
        with pytest.raises(dist.DistBackendError, match=r"joining: (no NVIDIA driver|GPU 3)"):
            apart.eager_connect_single_device(torch.device("cuda", 3))
