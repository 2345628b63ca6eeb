# SPDX-License-Identifier: Apache-2.0
"""Sends and receives as they are called: between any two ranks, by any thread, in any order."""

from abc import ABC, abstractmethod
from typing import Any

from railgauge.collectives.messages import Messages, MessageWork


class PointToPoint(ABC):
    """What one rank calls alone, and the rank at the other end.

    A message goes to the first receive that was started for its sender and tag; so messages of one rank with one tag
    stay in order. Both ends have to have as many elements of the same type. Short messages (to 32 KiB) end without
    the receiver; longer ones end when it has received them. A rank may send to itself. Neither collectives nor other
    transfers hold up a transfer. Arrays are as for collectives. Each method raises

        UsageError: an array, rank or tag is invalid, or the communicator is closed or has no point to point.
        RunError: a rank was lost, both ends differ in count or type, or the timeout passed; all communicators are then
            unusable. `isend` and `irecv` raise it from `wait()`.
    """

    def send(self, array: Any, dst: int, tag: int = 0) -> None:
        """Send an array to rank `dst`; it may be changed after that.

        Args:
            array: of n elements.
            dst: the rank that receives it.
            tag: 0 to 2**32 - 1; the receive has the same.
        """
        self._finish(self.isend(array, dst, tag))

    def recv(self, array: Any, src: int | None = None, tag: int = 0) -> int:
        """Receive an array from rank `src`, or without it from whichever sends first.

        Returns the rank it came from; within a group (`Communicator.group`) `src`, or -1.

        Args:
            array: of n elements, which are overwritten.
            src: the rank that sends it.
            tag: as in send.
        """
        transfer = self.irecv(array, src, tag)
        if self._finish(transfer):
            return transfer.source
        return -1 if src is None else src

    def isend(self, array: Any, dst: int, tag: int = 0) -> MessageWork:
        """Start what `send` does."""
        return self._point_to_point().start(array, dst, tag, sends=True)

    def irecv(self, array: Any, src: int | None = None, tag: int = 0) -> MessageWork:
        """Start what `recv` does; the rank it came from is the work's `source`."""
        return self._point_to_point().start(array, src, tag, sends=False)

    @abstractmethod
    def _finish(self, work: MessageWork) -> bool:
        """Wait for it now, or within a group at its end: False."""

    @abstractmethod
    def _point_to_point(self) -> Messages:
        """What it goes over. UsageError: there is none."""
