# SPDX-License-Identifier: Apache-2.0
"""The collectives as they are called: which arrays each takes, and what it returns."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

from railgauge.collectives.dtype import Bitwise, PreMulSum, Redop
from railgauge.collectives.operation import NUMBERS

ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, ALL_TO_ALL, GATHER, SCATTER, SEND_RECV = NUMBERS.values()
SUM = int(Redop.SUM)
"""For collectives that reduce nothing, where it is ignored."""
Operator: TypeAlias = Redop | Bitwise | PreMulSum | int


class Collectives(ABC):
    """What all ranks of a group call together, in the same order; not by two threads at once.

    Arrays are C-contiguous, in host memory, of anything that exports the buffer protocol or DLPack, and of one type on
    all ranks; how many elements a collective moves follows from their sizes. Bools take all operators but avg: sums are
    `or`, products `and`. Complex numbers take sum, avg and a `PreMulSum`. Integers of 16 bits are reduced in host
    memory alone. Each method returns its
    destination, or with `async_op` at once a Work whose `wait()` does, and raises

        UsageError: arrays of the wrong size or type, not contiguous, read-only, or overlapping otherwise than in place.
        RunError: a rank was lost, the ranks disagree, or the timeout passed; all communicators are then unusable. A
            Work raises it from `wait()`.
    """

    def all_reduce(
        self, source: Any, destination: Any = None, op: Operator = Redop.SUM, *, async_op: bool = False
    ) -> Any:
        """Reduce element-wise over all ranks; every rank gets the result.

        Args:
            source: n elements.
            destination: n elements; without it, `source` itself.
            op: sum, prod, min, max, avg (the sum divided by the ranks; integers round toward zero), or a `PreMulSum`;
                in host memory also `Bitwise` operators of integers.
            async_op: return a Work.
        """
        into = source if destination is None else destination
        return self._call(ALL_REDUCE, source, into, op, 0, async_op)

    def all_gather(self, source: Any, destination: Any, *, async_op: bool = False) -> Any:
        """Give every rank all ranks' elements.

        Args:
            source: n elements; in place: destination[rank * n : (rank + 1) * n].
            destination: size * n elements, by rank.
            async_op: return a Work.
        """
        return self._call(ALL_GATHER, source, destination, SUM, 0, async_op)

    def reduce_scatter(self, source: Any, destination: Any, op: Operator = Redop.SUM, *, async_op: bool = False) -> Any:
        """Reduce element-wise over all ranks; every rank gets its part of the result.

        Args:
            source: size * n elements.
            destination: n elements; in place: source[rank * n : (rank + 1) * n].
            op: as in all_reduce.
            async_op: return a Work.
        """
        return self._call(REDUCE_SCATTER, source, destination, op, 0, async_op)

    def broadcast(self, source: Any, destination: Any = None, root: int = 0, *, async_op: bool = False) -> Any:
        """Give every rank the root's elements.

        Args:
            source: n elements; only the root's are read.
            destination: n elements; without it, `source` itself.
            root: the rank whose elements they are.
            async_op: return a Work.
        """
        into = source if destination is None else destination
        return self._call(BROADCAST, source, into, SUM, root, async_op)

    def reduce(
        self, source: Any, destination: Any = None, op: Operator = Redop.SUM, root: int = 0, *, async_op: bool = False
    ) -> Any:
        """Reduce element-wise over all ranks; the root gets the result.

        Args:
            source: n elements.
            destination: n elements, of the root only; without it, `source` itself.
            op: as in all_reduce.
            root: the rank that gets the result.
            async_op: return a Work.
        """
        into = source if destination is None else destination
        return self._call(REDUCE, source, into, op, root, async_op)

    def alltoall(self, source: Any, destination: Any, *, async_op: bool = False) -> Any:
        """Give part p of every rank's elements to rank p.

        Args:
            source: size * n elements, by the rank that they are for. Not the destination.
            destination: size * n elements, by the rank that they are from.
            async_op: return a Work.
        """
        return self._call(ALL_TO_ALL, source, destination, SUM, 0, async_op)

    def alltoallv(
        self,
        source: Any,
        send_counts: Sequence[int],
        destination: Any,
        recv_counts: Sequence[int],
        *,
        async_op: bool = False,
    ) -> Any:
        """The same with parts of any length, one after another.

        Args:
            source: sum(send_counts) elements.
            send_counts: how many are for each rank.
            destination: sum(recv_counts) elements.
            recv_counts: how many come from each rank, which has to send as many.
            async_op: return a Work.
        """
        return self._call_v(source, send_counts, destination, recv_counts, async_op)

    def gather(self, source: Any, destination: Any = None, root: int = 0, *, async_op: bool = False) -> Any:
        """Give the root all ranks' elements.

        Args:
            source: n elements; in place, of the root: destination[root * n : (root + 1) * n].
            destination: size * n elements, by rank; of the root only.
            root: the rank that gets them.
            async_op: return a Work.
        """
        return self._call(GATHER, source, destination, SUM, root, async_op)

    def scatter(self, source: Any, destination: Any, root: int = 0, *, async_op: bool = False) -> Any:
        """Give every rank its part of the root's elements.

        Args:
            source: size * n elements, by rank; of the root only.
            destination: n elements; in place, of the root: source[root * n : (root + 1) * n].
            root: the rank whose elements they are.
            async_op: return a Work.
        """
        return self._call(SCATTER, source, destination, SUM, root, async_op)

    def sendrecv(self, source: Any, destination: Any, *, async_op: bool = False) -> Any:
        """Give this rank's elements to the next rank, and take the previous one's; the first follows the last.

        Args:
            source: n elements.
            destination: n elements; not the source.
            async_op: return a Work.
        """
        return self._call(SEND_RECV, source, destination, SUM, 0, async_op)

    @abstractmethod
    def _call(self, collective: int, source: Any, destination: Any, op: Operator, root: int, async_op: bool) -> Any:
        """Run it, now or when its turn comes; `collective` is the native engine's number."""

    @abstractmethod
    def _call_v(
        self, source: Any, send_counts: Sequence[int], destination: Any, recv_counts: Sequence[int], async_op: bool
    ) -> Any:
        """The same for an all-to-all of any lengths."""
