# SPDX-License-Identifier: Apache-2.0
"""Sends and receives between GPUs as they are called: put on a stream, alone or several at once."""

import contextlib
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from railgauge.collectives.cuda_array import cuda_array, current_stream
from railgauge.collectives.gpu_work import GpuWork
from railgauge.topo.errors import UsageError


class GpuMessage(NamedTuple):
    """A send or receive, as the native engine takes it."""

    sends: bool
    peer: int
    pointer: int
    bytes: int


Put = tuple[GpuMessage, int, GpuWork | None]
"""A message, its stream, and the work that waits for it."""


class GpuPointToPoint(ABC):
    """What one rank calls alone, and the rank at the other end: on the stream that the array's library uses.

    The messages of one rank to another arrive in the order of their sends, in the receives in their order; both have
    the same number of bytes. Those of one `group` run at the same time. Outside of it each is an operation of its own
    among this rank's, which run one after another: two ranks that send to each other before they receive wait for each
    other until the timeout, unless the messages are short. A message to the rank itself has its send and its receive in
    one group. Each method raises

        UsageError: the array or the rank is invalid.
        RunError: a rank was lost, or sent another length, or the timeout passed in an operation before.
    """

    device: int
    _grouped: list[Put] | None = None
    """In a group: its messages."""

    def send(self, array: Any, dst: int) -> None:
        """Send an array to rank `dst`; what is put on its stream after that may change it."""
        self._message(array, dst, None, sends=True)

    def recv(self, array: Any, src: int) -> None:
        """Receive an array from rank `src`; what is put on its stream after that finds it there."""
        self._message(array, src, None, sends=False)

    def isend(self, array: Any, dst: int) -> GpuWork:
        """What `send` does, as a work; of a group it can be waited for once the group has ended."""
        work = self._work(array)
        self._message(array, dst, work, sends=True)
        return work

    def irecv(self, array: Any, src: int) -> GpuWork:
        """What `recv` does, as a work, as `isend`."""
        work = self._work(array)
        self._message(array, src, work, sends=False)
        return work

    @contextlib.contextmanager
    def group(self) -> Iterator[None]:
        """Collect the sends and receives called within, and run them at its end, all at the same time; collectives
        start when they are called. Nothing is sent when an exception leaves the block. A nested block is part of the
        outer one.

        Raises:
            UsageError: the arrays' libraries use several streams.
        """
        if self._grouped is not None:
            yield
            return
        grouped: list[Put] = []
        self._grouped = grouped
        try:
            yield
        finally:
            self._grouped = None
        if grouped:
            self._put_all(grouped)

    def _message(self, array: Any, peer: int, work: GpuWork | None, *, sends: bool) -> None:
        told = cuda_array(array, self.device)
        try:
            message = GpuMessage(sends, operator.index(peer), told.pointer, told.count * told.dtype.bytes)
        except TypeError:
            what = "send" if sends else "recv"
            raise UsageError(f"{what}: rank {peer!r:.40}: expected a whole number") from None
        one = message, current_stream(array), work
        if self._grouped is None:
            self._put_all([one])
        else:
            self._grouped.append(one)

    def _put_all(self, messages: Sequence[Put]) -> None:
        streams = {stream for _, stream, _ in messages}
        if len(streams) > 1:
            raise UsageError("a group of sends and receives on several streams: use a group for each")
        self._put([message for message, _, _ in messages], [work for _, _, work in messages if work], streams.pop())

    @abstractmethod
    def _work(self, array: Any) -> GpuWork:
        """A work that is not put on a stream yet."""

    @abstractmethod
    def _put(self, messages: Sequence[GpuMessage], works: Sequence[GpuWork], stream: int) -> None:
        """Put them on a stream."""
