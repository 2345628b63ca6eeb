# SPDX-License-Identifier: Apache-2.0
"""Point to point among the ranks of a group: its connections, and sends and receives over them."""

import hashlib
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from railgauge._native import collectives as native
from railgauge.collectives.connections import Connections
from railgauge.collectives.dtype import dtype_label
from railgauge.collectives.ending import Ending
from railgauge.collectives.waiting import is_crowded
from railgauge.topo.errors import RunError, UsageError, WaitTimeoutError
from railgauge.transports.bootstrap import Watch
from railgauge.transports.group import Group
from railgauge.transports.network import Network
from railgauge.transports.peer import Peer
from railgauge.transports.select import sharing_memory
from railgauge.transports.standing import BlockedOn, Operation, Standing


class MessageWork:
    """A send or a receive under way. Its array must not be touched until it is completed."""

    def __init__(self, messages: "Messages", transfer: native.Transfer, array: Any) -> None:
        self._messages = messages
        self._transfer = transfer
        self._array = array

    def is_completed(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self._transfer.done

    @property
    def source(self) -> int:
        """The rank whose message a receive took; -1: none yet, or it is a send."""
        return self._transfer.source

    def wait(self, timeout: float | None = None) -> Any:
        """Wait until it has ended, and return its array. A send has ended once the array may be changed.

        Args:
            timeout: the most seconds to wait here; without it until nothing of it has moved for the communicator's
                timeout.

        Raises:
            WaitTimeoutError: it is still under way after `timeout`; wait again.
            RunError: a rank was lost, the ranks disagree, or the timeout passed; all communicators are then unusable.
        """
        self._messages.wait(self._transfer, timeout)
        return self._array


class Messages:
    """One rank's sends and receives in a group, made by all its ranks together. For any threads."""

    def __init__(self, group: Group, peers: Sequence[Peer], everybody: Sequence[Peer], network: Network) -> None:
        """Connect each of the `peers` with all others; `everybody`: all processes that may share this one's cores.

        Errors are those of `Connector.connect`.
        """
        self._group = group
        self._connections = Connections(group, network, None)
        self._under_way: list[native.Transfer] = []
        """With their arrays; those that are done go with the next one."""
        self._changing = threading.Lock()
        self._engine: native.Messages | None = None
        self.ending = Ending(group, weakref.proxy(self))  # what refers to itself outlives its last user
        self.watch = Watch(self.standing, self._connections.abort)
        group.job.attend(self.watch)
        self._engine = self.ending.connecting(
            lambda: native.Messages(
                group.rank,
                sharing_memory(peers),
                self._connections,
                self._connections.doorbell,
                timeout_s=group.job.timeout_s,
                crowded=is_crowded(peers[group.rank], everybody),
            )
        )

    def start(self, array: Any, peer: int | None, tag: int, *, sends: bool) -> MessageWork:
        """Start a send to a peer, or a receive: from any rank without one. UsageError: an argument is invalid."""
        self.ending.check()
        assert self._engine
        try:
            transfer = self._engine.start(sends, array, peer, tag)
        except TypeError:
            what = "send" if sends else "recv"
            raise UsageError(f"{what}: rank {peer!r:.40}, tag {tag!r:.40}: expected whole numbers") from None
        except RunError as error:
            self.ending.end(error)
            raise
        with self._changing:
            self._under_way = [*(one for one in self._under_way if not one.done), transfer]
        return MessageWork(self, transfer, array)

    def wait(self, transfer: native.Transfer, timeout: float | None) -> None:
        """Wait for one; errors are those of `MessageWork.wait`."""
        engine = self._engine
        if engine is None:
            raise UsageError("this group is closed")
        if not self.ending.running(lambda: engine.wait(transfer, timeout)):
            raise WaitTimeoutError(f"the transfer is still under way after {timeout:g} s")

    @property
    def is_amid(self) -> bool:
        """Whether a transfer was started and is not done."""
        return self._engine is not None and self._engine.is_amid

    def standing(self) -> Standing:
        """What a caller waits for, as an operation of this rank alone; for any thread."""
        members, rank = list(self._group.members), self._group.world_rank
        name = int.from_bytes(hashlib.sha256(f"{self._group.name} messages {rank}".encode()).digest()[:8], "big")
        waited = self._engine.waited_for if self._engine else None
        if not waited:
            return Standing(name, members, [], BlockedOn())
        sends, number, peer, count, dtype, began_s = waited
        whom = members[peer] if peer >= 0 else -1
        operation = Operation(
            number=number,
            collective="send" if sends else "recv",
            elements=count,
            dtype=dtype_label(dtype),
            op="",
            root=-1,
            algorithm="pairs",
            channels=1,
            began_s=began_s,
            took_us=-1,
        )
        return Standing(name, members, [operation], BlockedOn(whom, sends, 0, 0))

    def abort(self) -> None:
        """End all transfers here; for any thread."""
        self.ending.abort()
        self._connections.abort()

    def close(self) -> None:
        """Wait until sends are done, unless the run has ended, and end."""
        if self._engine and not self.ending.has_ended:
            self.ending.running(self._engine.finish_sends)
        self._engine = None  # it moves nothing from here on
        self._connections.close()
        self._group.job.dismiss(self.watch)
        del self.watch
