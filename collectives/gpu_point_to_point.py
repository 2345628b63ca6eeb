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

MOST_TAG = 2**32 - 1


class GpuMessage(NamedTuple):
    """A send or receive, as the native engine takes it."""

    sends: bool
    peer: int
    pointer: int
    bytes: int
    tag: int


Put = tuple[GpuMessage, int, GpuWork | None]
"""A message, its stream, and the work that waits for it."""


class GpuPointToPoint(ABC):
    """What one rank calls alone, and the rank at the other end: on the stream that the array's library uses.

    The messages of one rank to another arrive in the order of their sends, and each goes to the first receive of its
    tag in the `group` that receives then; one without such a receive ends the run, as nothing holds it until later.
    Both ends have the same number of bytes. Messages of one group run at the same time. Outside of it each is an
    operation of its own among this rank's, which run one after another: two ranks that send to each other before they
    receive wait for each other until the timeout, unless the messages are short. A message to the rank itself has its
    send and its receive in one group. Each method raises

        UsageError: the array, the rank or the tag is invalid.
        RunError: a rank was lost, or sent another length or tag, or the timeout passed in an operation before.
    """

    device: int
    _grouped: list[Put] | None = None
    """In a group: its messages."""

    def send(self, array: Any, dst: int, tag: int = 0) -> None:
        """Send an array to rank `dst`, with a tag from 0 to 2**32 - 1; what is put on its stream after that may change
        it.
        """
        self._message(array, dst, tag, None, sends=True)

    def recv(self, array: Any, src: int, tag: int = 0) -> None:
        """Receive an array from rank `src`, sent with that tag; what is put on its stream after that finds it there."""
        self._message(array, src, tag, None, sends=False)

    def isend(self, array: Any, dst: int, tag: int = 0) -> GpuWork:
        """What `send` does, as a work; of a group it can be waited for once the group has ended."""
        work = self._work(array)
        self._message(array, dst, tag, work, sends=True)
        return work

    def irecv(self, array: Any, src: int, tag: int = 0) -> GpuWork:
        """What `recv` does, as a work, as `isend`."""
        work = self._work(array)
        self._message(array, src, tag, work, sends=False)
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

    def _message(self, array: Any, peer: int, tag: int, work: GpuWork | None, *, sends: bool) -> None:
        told = cuda_array(array, self.device)
        what = "send" if sends else "recv"
        if peer is None:
            raise UsageError(f"{what}: a GPU {what}s {'to' if sends else 'from'} a rank that is named, not any")
        try:
            rank, number = operator.index(peer), operator.index(tag)
        except TypeError:
            raise UsageError(f"{what}: rank {peer!r:.40}, tag {tag!r:.40}: expected whole numbers") from None
        if not 0 <= number <= MOST_TAG:
            raise UsageError(f"{what}: tag {number!r:.40}: expected 0 to {MOST_TAG}")
        message = GpuMessage(sends, rank, told.pointer, told.count * told.dtype.bytes, number)
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
