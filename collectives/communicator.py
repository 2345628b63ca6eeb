# SPDX-License-Identifier: Apache-2.0
"""The communicator: a group of ranks with connected channels, and the collectives on it."""

from typing import TYPE_CHECKING, Any

from railgauge._native import collectives as native
from railgauge._native.transports import Doorbell, FaultySender
from railgauge.collectives.dtype import Dtype, Redop, dtype_of
from railgauge.topo.errors import AbortedError, PeerLostError, RunError, UsageError, WaitTimeoutError
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.connect import Connector, Nets, RingEnds
from railgauge.transports.fault import Fault
from railgauge.transports.peer import Peer

if TYPE_CHECKING:
    import numpy as np

SPIN_S = 2e-3
"""Polling before sleeping, when every rank has a core of its own: longer than a turn of a large ring takes. One sleeper
makes its neighbours wait longer, so that they sleep too: 32 ranks on 64 cores took 4.5 ms for 8 bytes with 50 us."""
NET_SPIN_S = 50e-6
"""The same over sockets, where a turn takes longer than waking from sleep does."""
CROWDED_SPIN_S = 5e-6
"""The same with more ranks (and their proxies) than cores, where polling takes time from the one that is waited for."""
MIN_CHANNEL_BYTES = 64 << 10
"""A channel carries this much before another one is used: less is over sooner than a second one has begun."""
STREAM_BYTES = 32 << 20
"""Results of this size and more are written past the caches, which could not keep them anyway."""


class Communicator:
    """One rank's end of a group. Made by all ranks together; not for use by two threads at once."""

    def __init__(
        self,
        bootstrap: Bootstrap,
        peers: list[Peer],
        rings: list[list[int]],
        nets: list[list[Nets]] | None = None,
        fault: Fault | None = None,
    ) -> None:
        """Connect the `peers`, which are all ranks, over `rings`, each the ranks in ring order; all give the same.

        `nets` says for each ring and place how the step to the next rank goes (`Plan.nets`); without it, through
        shared memory.

        Raises:
            RunError: a rank was lost meanwhile, or cannot be reached. UnavailableError: an interface is not there.
        """
        self.rank = bootstrap.rank
        self.size = bootstrap.world_size
        self.peers = peers
        self._bootstrap = bootstrap
        self._doorbell = Doorbell()
        self._closed = False
        self._connector = Connector(bootstrap, self._doorbell, fault)
        bootstrap.on_abort = self._abort
        self.rings = self._connect(rings, nets or [[None] * len(ring) for ring in rings])
        self._native = native.Communicator(
            self._doorbell,
            [native.RingChannel(e.position, e.ranks, e.next, e.previous) for e in self.rings],
            timeout_s=bootstrap.timeout_s,
            spin_s=self._spin_s(sockets=any(step for steps in nets or () for step in steps)),
            min_channel_bytes=MIN_CHANNEL_BYTES,
            stream_bytes=STREAM_BYTES,
        )
        bootstrap.blocked_on = lambda: self._native.blocked_on
        bootstrap.barrier()

    def all_reduce(
        self, source: "np.ndarray", destination: "np.ndarray | None" = None, op: Redop = Redop.SUM
    ) -> "np.ndarray":
        """Reduce element-wise over all ranks; every rank gets the result.

        Args:
            source: C-contiguous array of any shape; the same shape and dtype on every rank.
            destination: where the result goes: an array of that shape and dtype; without it, `source` itself.
            op: sum, prod, min, max, or avg (the sum divided by the ranks; integers round toward zero).

        Returns:
            The destination.

        Raises:
            UsageError: arrays of unequal shape, not contiguous, or of a type the engine does not have.
            RunError: a rank was lost, the ranks disagree, or the timeout passed; the communicator is then unusable.
        """
        into = source if destination is None else destination
        dtype = dtype_of(source)
        if into.shape != source.shape or into.dtype != source.dtype:
            raise UsageError(f"source is {source.dtype}{source.shape}, destination {into.dtype}{into.shape}")
        if not (source.flags.c_contiguous and into.flags.c_contiguous and source.flags.aligned and into.flags.aligned):
            raise UsageError("all_reduce takes aligned C-contiguous arrays")
        self.repeat_all_reduce(_raw(source), _raw(into), source.size, dtype, op, 1)
        return into

    def repeat_all_reduce(self, source: Any, into: Any, count: int, dtype: Dtype, op: Redop, times: int) -> list[float]:
        """Run an all-reduce on raw buffers `times` times; return the seconds each took. Errors as in all_reduce."""
        if self._closed:
            raise UsageError("all_reduce: this group is closed")
        try:
            return self._native.all_reduce(source, into, count, int(dtype), int(op), times)
        except WaitTimeoutError as error:
            self._bootstrap.fail(str(error), self._native.blocked_on)
            raise self._bootstrap.wait_for_failure(error) from None
        except PeerLostError as error:
            self._bootstrap.fail(str(error), (self.rank if error.rank is None else error.rank, False))
            raise self._bootstrap.wait_for_failure(error) from None
        except AbortedError as error:
            raise self._bootstrap.wait_for_failure(error) from None
        except RunError as error:
            self._bootstrap.fail(str(error))
            raise

    def close(self) -> None:
        """Send what the others still have to get, and end; harmless when called twice."""
        self._closed = True
        if self._connector.proxy:
            self._connector.proxy.close()

    def arm_fault(self) -> None:
        """Let an injected fault come: messages count from here on."""
        for sender in self._faulty():
            sender.arm()

    def fault_fired(self) -> bool:
        """Whether an injected fault has come on this rank."""
        return any(sender.fired for sender in self._faulty())

    def _faulty(self) -> list[FaultySender]:
        return [ends.next for ends in self.rings if isinstance(ends.next, FaultySender)]

    def channels_for(self, size_bytes: int) -> int:
        """How many channels an operation of this size uses."""
        return self._native.channels_for(size_bytes)

    def _connect(self, rings: list[list[int]], nets: list[list[Nets]]) -> list[RingEnds]:
        try:
            return self._connector.connect(rings, nets)
        except RunError as error:
            self._bootstrap.fail(str(error))
            raise self._bootstrap.wait_for_failure(error) from None

    def _abort(self) -> None:
        self._doorbell.abort()
        if self._connector.proxy:
            self._connector.proxy.abort()

    def _spin_s(self, *, sockets: bool) -> float:
        here = [p for p in self.peers if p.host_id == self.peers[self.rank].host_id]
        threads = len(here) * (2 if sockets else 1)
        if threads > len({cpu for p in here for cpu in p.cpus}):
            return CROWDED_SPIN_S
        return NET_SPIN_S if sockets else SPIN_S


def _raw(array: "np.ndarray") -> Any:
    """The array's memory as bytes, for types that do not export themselves (bfloat16)."""
    return array.reshape(-1).view("uint8")
