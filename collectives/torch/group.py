# SPDX-License-Identifier: Apache-2.0
"""What torch.distributed calls: it finds the operation in the table, and where its tensors are.

From 2.15 on, torch makes the process group, of a back end for each device, which Python may implement. Before, Python
implements the process group, with all of its devices.
"""

from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.torch.call import TorchCall, TorchMessage
from railgauge.collectives.torch.cuda import CudaOperations, JoinedGpus
from railgauge.collectives.torch.errors import TorchErrors
from railgauge.collectives.torch.host import HostOperations
from railgauge.collectives.torch.job import TorchJob
from railgauge.collectives.torch.operations import (
    OPERATIONS,
    OTHER_SPELLINGS,
    Position,
    TorchOperation,
    TorchRow,
)
from railgauge.collectives.torch.other_backend import devices_of, other_backend
from railgauge.collectives.torch.profile import is_profiling, profiled
from railgauge.collectives.torch.result_check import ResultCheck
from railgauge.collectives.torch.store import store_of
from railgauge.collectives.torch.tensors import device_of, moved
from railgauge.collectives.torch.work import WorksTogether
from railgauge.topo.errors import AbortedError, Error, UsageError

NAME = "railgauge"
DEVICES = ("cpu", "cuda")
DROPPED = 8
"""How many works are kept that the program dropped without waiting for them: DDP's join waits for the last but one."""
IS_BACKEND = torch.__version__ >= (2, 15)
WAITS_ALWAYS = not hasattr(c10d.AllreduceOptions, "asyncOp")
"""Torch 2.6, whose options do not all say whether a call is async, waits for the work of each; newer ones if there is
one.
"""
BASE: Any = c10d.Backend if IS_BACKEND else dist.ProcessGroup


class Ends(NamedTuple):
    """What a group has while it is open."""

    job: TorchJob
    communicator: Communicator
    host: HostOperations
    cuda: CudaOperations


class TorchGroup(BASE):  # type: ignore[misc]
    """One rank's end of a group of torch.distributed. The collectives are those of `OPERATIONS`."""

    def __init__(
        self,
        job: TorchJob,
        communicator: Communicator,
        members: Sequence[int],
        store: Any,
        timeout: timedelta,
        join_gpus: Callable[[], Any] | None = None,
    ) -> None:
        """`communicator` is the job's, or a part of it; `members` are its ranks in torch's default group. `join_gpus`
        makes the engine's communicator of their GPUs, where those are known already.
        """
        super().__init__(communicator.rank, communicator.size)
        self._members, self._store, self._timeout = members, store, timeout
        self._at = Position(communicator.rank, communicator.size)
        self._name = self._about = ""
        self._named: dict[str, TorchErrors] = {}
        """By operation: errors with this group's name."""
        self._count = 0
        self._together: list[Any] | None = None
        self._dropped: deque[Any] = deque(maxlen=DROPPED)
        self._part_of_gpus = join_gpus
        self._recorded = job.record.group(members) if job.record else None
        with TorchErrors(f"rank {communicator.rank}"):
            check = ResultCheck()
        host = HostOperations(communicator, timeout.total_seconds(), job.timeout.total_seconds(), check)
        self._ends: Ends | None = Ends(job, communicator, host, CudaOperations(self._join_gpus))
        self._others: dict[str, Any] = {}
        """By kind of device, what other back ends have."""
        self._places: dict[Any, tuple[Any, Any]] = {}
        """What `_place` found."""

    def send(self, tensors: list[Any], dst: int, tag: int) -> Any:
        """Begin to send a tensor to rank `dst` of the group."""
        return self._transfer("send", f"send {self._at.rank}->{dst}", tensors, dst, tag)

    def recv(self, tensors: list[Any], src: int, tag: int) -> Any:
        """Begin to receive a tensor from rank `src` of the group."""
        return self._transfer("recv", f"recv {self._at.rank}<-{src}", tensors, src, tag)

    def recv_anysource(self, tensors: list[Any], tag: int) -> Any:
        """Begin to receive a tensor from the rank that sends first."""
        return self._transfer("recv_anysource", f"recv {self._at.rank}<-any", tensors, None, tag)

    def barrier(self, opts: Any = None) -> Any:
        """Wait until every rank is here, and this rank's GPU has done what was called before."""
        ends = self._open("barrier")
        ends.cuda.synchronize()
        operation = TorchOperation(lambda on: on.barrier(), [], [])  # type: ignore[attr-defined]
        opts = opts or c10d.BarrierOptions()
        return self._keep(ends.host.start, self._call("barrier", operation, [], opts, is_async=self._is_async(opts)))

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """A barrier; as every error here, its own names the ranks that do not come."""
        opts = c10d.BarrierOptions()
        opts.asyncOp = False
        if timeout:
            opts.timeout = timeout
        self.barrier(opts)

    def split_group(
        self,
        ranks: Sequence[int],
        timeout: timedelta | None = None,
        opts: Any = None,
        group_name: str | None = None,
        group_desc: str | None = None,
        device_types: Any = None,
    ) -> "TorchGroup | None":
        """A group of some ranks of this one, in this order; None on the others."""
        if self._at.rank not in ranks:
            return None
        made = self.part(ranks, dist.PrefixStore(f"{group_name}/", self._store), timeout or self._timeout)
        made._set_group_name(group_name or "")
        made._set_group_desc(group_desc or "")
        return made

    def split(self, store: Any, ranks: Sequence[int], opts: Any) -> "TorchGroup | None":
        """As `split_group`, for a back end."""
        return self.part(ranks, store, opts._timeout) if self._at.rank in ranks else None

    def part(self, ranks: Sequence[int], store: Any, timeout: timedelta) -> "TorchGroup":
        """A group of some ranks of this one, which alone call it, without another rendezvous."""
        label = f"new group of ranks {list(ranks)}"
        ends = self._open(label)
        with TorchErrors(self._where(label)):
            communicator = ends.communicator.subset(list(ranks))
        whole = ends.cuda.communicator
        join_gpus = whole and (lambda: whole.subset(list(ranks)))
        return TorchGroup(ends.job, communicator, [self._members[rank] for rank in ranks], store, timeout, join_gpus)

    @property
    def job(self) -> TorchJob:
        """The job that it is of."""
        return self._open("job").job

    def abort(self) -> None:
        """End this rank's operations; on the group of all ranks, those of all ranks. Any thread may call it."""
        if self._ends:
            self._ends.host.abort()
            self.shutdown(AbortedError(f"rank {self._at.rank} aborted group {self._name}"))

    def shutdown(self, error: BaseException | None = None) -> None:
        """Finish what is under way, and leave."""
        ends, self._ends = self._ends, None  # torch may keep this object to the program's end
        if ends is None:
            return
        self._places.clear()
        self._dropped.clear()
        ends.cuda.close(error)
        ends.host.close()
        for other in filter(None, self._others.values()):
            other.shutdown()
        self._others.clear()
        if ends.communicator is ends.job.communicator:
            ends.job.close(error)

    def getBackendName(self) -> str:
        """For torch."""
        return NAME

    def getGroupName(self) -> str:
        """For torch."""
        return self._name

    def setGroupName(self, name: str) -> None:
        """For torch."""
        self._name = name
        self._named.clear()
        if self._recorded:
            self._recorded.name = name

    def getGroupDesc(self) -> str:
        """For torch."""
        return self._about

    def setGroupDesc(self, about: str) -> None:
        """For torch."""
        self._about = about
        if self._recorded:
            self._recorded.about = about

    group_name = property(getGroupName)
    group_desc = property(getGroupDesc)
    _set_group_name, _set_group_desc = setGroupName, setGroupDesc
    supports_splitting = True
    supports_coalescing = IS_BACKEND
    """Before, torch asks for it in process groups of its own class alone."""
    supports_time_estimate = False

    @property
    def options(self) -> Any:
        """What split_group copies."""
        return dist.Backend.Options(NAME, self._timeout) if hasattr(dist.Backend, "Options") else None

    def get_group_store(self) -> Any:
        """The store that it was made with."""
        return self._store

    @property
    def _device_types(self) -> list[Any]:
        return [torch.device(name) for name in self._config()]

    def _get_backend(self, device: Any) -> Any:
        other = self._other(torch.device(device).type)
        return other._get_backend(device) if other else self

    def eager_connect_single_device(self, device: Any) -> None:
        """Join the GPUs of all ranks, where the program says which (`device_id`), else the first operation does."""
        with TorchErrors(self._where("joining the GPUs")):
            self._open("joining the GPUs").cuda.connect(device)

    def _get_sequence_number_for_group(self) -> int:
        return self._count

    def _set_sequence_number_for_group(self) -> None:
        """The count is the same on all ranks from the start."""

    def _start_coalescing(self, device: Any = None) -> None:
        self._together = []

    def _end_coalescing(self, device: Any = None) -> Any:
        if self._ends:  # torch aborts groups within a block
            self._ends.cuda.put_messages()
        works, self._together = self._together or [], None
        return WorksTogether(works)

    start_coalescing, end_coalescing = _start_coalescing, _end_coalescing

    def _run(self, name: str, row: TorchRow, args: Sequence[Any], opts: Any) -> Any:
        if args and isinstance(args[-1], row.options):
            *args, opts = args
        elif args and args[-1] is None and opts is None:
            args = args[:-1]
        opts = opts or row.options()
        is_async = self._is_async(opts)
        if row.as_is and self._ends and not (self._recorded or is_profiling()) and (asked := row.as_is(*args, opts)):
            cuda, needs_work = self._ends.cuda, is_async or WAITS_ALWAYS
            if put := cuda.start_as_is(asked) if needs_work else cuda.put_as_is(asked):
                self._count += 1
                return self._hold(put) if needs_work else None
        device = device_of(args)
        other, place = self._places.get(device) or self._place(device, row.label)
        if other:
            return getattr(other, name)(*args, opts)
        result = args[0] if isinstance(args[0], list) else [args[0]]
        with place.preparing(device, is_async=is_async):
            try:
                operation = row.prepare(self._at, *args, opts)
            except Error as error:
                raise self._errors(row.label).of(error) from error
            return self._keep(place.start, self._call(row.label, operation, result, opts, is_async=is_async))

    def _is_async(self, opts: Any) -> bool:
        return self._together is not None or getattr(opts, "asyncOp", True)

    def _transfer(self, name: str, label: str, tensors: list[Any], peer: int | None, tag: int) -> Any:
        other, place = self._place(device_of((tensors,)), label)
        if other:
            return getattr(other, name)(tensors, *(one for one in (peer, tag) if one is not None))
        with self._errors(label):
            if len(tensors) != 1:
                raise UsageError(f"{len(tensors)} tensors: expected one")
            array = moved(tensors[0])
        sends = name == "send"
        operation = TorchOperation(lambda on: None, tensors if sends else [], [] if sends else tensors)
        call = self._call(label, operation, tensors, None, is_async=True)
        return self._keep(place.transfer, call, TorchMessage(array, peer, tag, sends))

    def _call(
        self, label: str, operation: TorchOperation, result: list[Any], opts: Any, *, is_async: bool
    ) -> TorchCall:
        self._count += 1
        call = TorchCall(label, self._errors(label), operation, result, is_async, opts)
        if self._recorded and (record := self._open(label).job.record):
            timeout_s = call.timeout_s or self._timeout.total_seconds()
            sides = operation.inputs, operation.outputs
            call.entry = record.enter(self._recorded, label, *sides, timeout_s=timeout_s)
        return call

    def _keep(self, start: Callable[..., Any], call: TorchCall, *args: Any) -> Any:
        try:
            if is_profiling():
                work = profiled(f"{NAME}:{call.label}", call.is_async, start, call, *args)
            else:
                work = start(call, *args)
        except dist.DistBackendError:
            if self._ends:
                self._ends.job.write_record()
            raise
        return self._hold(work) if call.is_async else work

    def _hold(self, work: Any) -> Any:
        """Note a work that its program may wait for, alone or with those of its block."""
        if self._together is not None:
            self._together.append(work)
        else:
            work.kept_in = self._dropped
        return work

    def _open(self, label: str) -> Ends:
        if self._ends is None:
            raise ValueError(f"railgauge: {self._where(label)}: the group was destroyed")
        return self._ends

    def _errors(self, label: str) -> TorchErrors:
        errors = self._named.get(label)
        if errors is None:
            errors = self._named[label] = TorchErrors(self._where(label))
        return errors

    def _where(self, label: str) -> str:
        return f"rank {self._at.rank} of group {self._name or 'unnamed'}: {label}"

    def _config(self) -> dict[str, str]:
        try:
            return devices_of(dist.get_backend_config(self))
        except (ValueError, TypeError):  # torch does not know the group
            return dict.fromkeys(DEVICES, NAME)

    def _place(self, device: Any, label: str) -> tuple[Any, Any]:
        """What runs operations on a device's tensors: another back end's group, or a part of this one."""
        ends = self._open(label)
        made = self._other(device.type), ends.host if device.type == "cpu" else ends.cuda
        self._places[device] = made
        return made

    def _other(self, device: str) -> Any:
        """The process group of another back end, where the user named one for this device; None: it is ours."""
        if IS_BACKEND:
            return None
        if device not in self._others:
            name = self._config().get(device, "")
            if not name or (name == NAME and device not in DEVICES):
                raise ValueError(f"railgauge: {self._where('')}no back end for tensors on {device}")
            other = None
            if name != NAME:
                other = other_backend(name, device, self._store, *self._at, self._timeout, self._name)
            self._others[device] = other
        return self._others[device]

    def _join_gpus(self, device: int) -> JoinedGpus:
        if self._part_of_gpus:
            part = self._part_of_gpus()
            return JoinedGpus(part, lambda _error: part.close())
        store = dist.PrefixStore("gpu", store_of(self._members, self._store))
        job = TorchJob(store, *self._at, self._members, self._timeout, device)
        return JoinedGpus(job.process_group.communicator, job.close)


def end_of(group: Any) -> TorchGroup | None:
    """This back end's part of a process group; None: it has none."""
    if isinstance(group, TorchGroup):
        return group
    ends = (group._get_backend(device) for device in group._device_types) if IS_BACKEND else ()
    return next((end for end in ends if isinstance(end, TorchGroup)), None)


def _method(name: str, row: TorchRow) -> Callable[..., Any]:
    def call(group: TorchGroup, *args: Any, opts: Any = None) -> Any:
        return group._run(name, row, args, opts)

    return call


def _add_operations() -> None:
    for name, row in OPERATIONS.items():
        setattr(TorchGroup, name, _method(name, row))
    for old, new in OTHER_SPELLINGS.items():
        setattr(TorchGroup, old, getattr(TorchGroup, new))


_add_operations()
