# SPDX-License-Identifier: Apache-2.0
"""Joining a job from a user's program, as with torch.distributed.init_process_group."""

import contextlib
import logging
import os
import warnings
import weakref
from datetime import timedelta
from numbers import Integral
from types import TracebackType
from typing import Self

from railgauge.collectives.binding import bound
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.connect import connect, connect_gpus
from railgauge.collectives.device import Gpu, gpu_numbered
from railgauge.collectives.gpu_communicator import GpuCommunicator
from railgauge.collectives.launch.arrival import arrive
from railgauge.collectives.launch.place import Place, find_place
from railgauge.collectives.plan import make_plan
from railgauge.collectives.without_effect import without_effect
from railgauge.topo.errors import UsageError, described
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.init_method import split_init_method
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import choose_network
from railgauge.transports.peer import Peer, this_peer
from railgauge.transports.peers import exchange
from railgauge.transports.store.store import Store

DEFAULT_TIMEOUT = timedelta(minutes=30)


class ProcessGroup:
    """This process as one rank among all others, connected over the planned channels until `close`.

    A group that is dropped without it, or left open when the program ends, ends the run on all ranks.
    """

    communicator: Communicator | GpuCommunicator

    def __init__(
        self,
        place: Place,
        timeout: timedelta,
        store: Store | None,
        *,
        bind: bool,
        device: int | None,
        max_ctas: int | None = None,
    ) -> None:
        with contextlib.ExitStack() as stack:
            rendezvous = stack.enter_context(
                arrive(place, ranks_per_process=1, timeout_s=timeout.total_seconds(), store=store)
            )
            try:
                self._bootstrap = rendezvous.join(place.process)
                stack.callback(self._bootstrap.close)
                gpu = None if device is None else gpu_numbered(device)
                peers = exchange(self._bootstrap, _peer(place.process, gpu))
                log = NcclLog(place.process)
                network = choose_network(self._bootstrap, peers, log)
                plan = make_plan(self._bootstrap, peers, None, log, network=network)
                if gpu:
                    self.communicator = connect_gpus(
                        self._bootstrap, peers, plan, network, gpu.device, log, max_ctas=max_ctas
                    )
                else:
                    self.communicator = connect(self._bootstrap, peers, plan, network, log, point_to_point=True)
                stack.callback(self.communicator.close)  # before the others learn that this rank leaves
                if place.process == 0:
                    for remark in without_effect(os.environ):
                        logging.getLogger(__name__).warning("railgauge: %s", remark)
                if bind:
                    stack.enter_context(bound(peers, place.process, plan.cpus[place.process]))
            except BaseException as error:
                rendezvous.fail(described(error))
                raise
            self._open = stack.pop_all()
        self.rank = place.process
        self.size = place.processes
        self._unless_closed = weakref.finalize(self, _abandon, self._open, self._bootstrap)

    def barrier(self) -> None:
        """Wait until every rank is here.

        Raises:
            UsageError: this group is closed.
            RunError: a rank was lost, or does not come within the timeout.
        """
        if not self._unless_closed.alive:
            raise UsageError("barrier: this group is closed")
        self.communicator.barrier()

    def close(self) -> None:
        """Leave; rank 0 stays until all have left, or the timeout has passed. It may be called twice, and in a process
        that was forked from this one.
        """
        self._unless_closed.detach()
        if self._bootstrap.is_copy:
            self._open.pop_all()
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None and self._unless_closed.alive:
            self._bootstrap.fail(described(error))
        self.close()


def init_process_group(
    init_method: str | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    timeout: timedelta = DEFAULT_TIMEOUT,
    *,
    store: Store | None = None,
    bind: bool = True,
    device: int | None = None,
    max_ctas: int | None = None,
) -> ProcessGroup:
    """Rendezvous with the other processes of the job and connect to them.

    Args:
        init_method: env://, tcp://HOST:PORT or file:///PATH, also with torch's ?rank=R&world_size=W. Without it,
            the launcher's: torchrun, mpirun, srun, or MASTER_ADDR and MASTER_PORT set by hand.
        rank: this process's number; with `world_size`. Without them, RANK and WORLD_SIZE, or the launcher's.
        world_size: how many processes there are.
        timeout: longest wait for the others, now and in any operation.
        store: use this store for rendezvous, instead of an init method; it requires `rank` and `world_size`. It
            stays open, and can be used by one group after another.
        bind: bind this thread, and those that it starts, to cores of their own until the group is closed, unless a
            launcher has given the ranks of this host different ones.
        device: CUDA's number of this rank's GPU in this process; arrays are in its memory then. Without it they are in
            that of the host. The same on all ranks.
        max_ctas: how many blocks of its GPU an operation has at most, beside NCCL_MAX_CTAS and NCCL_MAX_NCHANNELS; the
            GPU's other multiprocessors compute meanwhile. The least of all ranks counts.

    Raises:
        UsageError: the rank and rendezvous are missing or incomplete; an argument has the wrong type; this rank is
        rejected.
        RunError: some processes did not join within the timeout; the message names them.
        UnavailableError: no network interface can be used, or there is no such GPU.
    """
    _check("init_method", init_method, str, "a text")
    _check("rank", rank, Integral, "a whole number")
    _check("world_size", world_size, Integral, "a whole number")
    _check("device", device, Integral, "the number of a GPU")
    _check("store", store, Store, "one of railgauge.transports.store")
    if not isinstance(timeout, timedelta):
        raise UsageError(f"init_process_group: timeout is {timeout!r}: expected a datetime.timedelta")
    if store is not None and init_method is not None:
        raise UsageError("init_process_group: give a store or an init method, not both")
    if store is not None and (rank is None or world_size is None):
        raise UsageError("init_process_group: a store requires rank and world_size")
    return ProcessGroup(
        _place(init_method, rank, world_size), timeout, store, bind=bind, device=device, max_ctas=max_ctas
    )


def _peer(rank: int, gpu: Gpu | None) -> Peer:
    return this_peer(rank, bus_id=gpu.bus_id, device=gpu.device, gpu=gpu.name) if gpu else this_peer(rank)


def _abandon(opened: contextlib.ExitStack, bootstrap: Bootstrap) -> None:
    """End a group that was not closed: report it to the others, without waiting."""
    if bootstrap.is_copy:
        return
    warnings.warn("a railgauge.ProcessGroup was not closed: call close(), or use a with statement", ResourceWarning, 2)
    bootstrap.fail("its program did not close the process group")
    bootstrap.abort()
    opened.close()


def _check(name: str, value: object, kind: type, words: str) -> None:
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise UsageError(f"init_process_group: {name} is {value!r}: expected {words}")


def _place(init_method: str | None, rank: int | None, world_size: int | None) -> Place:
    if init_method is not None:
        init_method, rank_said, world_size_said = split_init_method(init_method)
        rank, world_size = _one(rank, rank_said, "rank"), _one(world_size, world_size_said, "world_size")
    if (rank is None) != (world_size is None):
        raise UsageError("init_process_group: give both rank and world_size")
    if rank is not None and world_size is not None:
        called = "init_process_group"
        return Place(process=int(rank), processes=int(world_size), init_method=init_method or "env://", launcher=called)
    place = find_place(os.environ, init_method)
    if place is None:
        raise UsageError("init_process_group: rank and world_size are missing, and no launcher has set them")
    return place


def _one(given: int | None, said: int | None, name: str) -> int | None:
    """The value, from the argument or the init method."""
    if given is not None and said is not None and given != said:
        raise UsageError(f"init_process_group: {name} is {given}, but the init method says {said}")
    return said if given is None else given
