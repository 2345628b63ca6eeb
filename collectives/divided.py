# SPDX-License-Identifier: Apache-2.0
"""Communicators of some of a communicator's ranks, as they are asked for."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from railgauge.collectives.subgroups import Part, Subgroups


class Divided(ABC):
    """A communicator of whose ranks others can be made. They run beside it, and are closed with it at the latest."""

    _subgroups: Subgroups

    def split(self, color: int | None, key: int = 0, *, async_op: bool = False, max_ctas: int | None = None) -> Any:
        """Make a communicator of each set of ranks with the same color; all ranks call it (as MPI_Comm_split).

        Args:
            color: which of them this rank joins; None: none.
            key: the ranks of each are numbered by growing key, and by their numbers here where keys are equal.
            async_op: return a Work, whose `wait()` returns the communicator.
            max_ctas: of GPUs, how many blocks an operation of the new one has at most, beside this one's limit; it has
                smaller staging buffers with fewer. The least of its ranks' counts.

        Returns:
            The new communicator, whose rings follow its rank numbers; None without a color.

        Raises:
            UsageError: a color or key is not a whole number, or `max_ctas` is invalid. RunError, UnavailableError: as
            when this one was made.
        """
        return self._making(lambda: self._subgroups.split(color, key), async_op, max_ctas)

    def subset(self, ranks: Sequence[int], *, async_op: bool = False, max_ctas: int | None = None) -> Any:
        """Make a communicator of some ranks, numbered in this order; they alone call it, with the same ranks.

        Returns:
            As `split`.

        Raises:
            UsageError: this rank is not among them, or they are not ranks of this communicator. Others as `split`.
        """
        return self._making(lambda: self._subgroups.subset(ranks), async_op, max_ctas)

    @abstractmethod
    def _making(self, find: Callable[[], Part | None], async_op: bool, max_ctas: int | None) -> Any:
        """Find the ranks, and make their communicator, now or in the background; None for None."""
