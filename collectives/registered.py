# SPDX-License-Identifier: Apache-2.0
"""An array that is registered for access without a copy: by GPUs of the peers, by RDMA devices of this host."""

from collections.abc import Callable
from types import TracebackType
from typing import Self


class Registered:
    """A registered array of the caller's, until `close`; it must live as long."""

    def __init__(self, registration: int | None, end: Callable[[int], None]) -> None:
        """`registration`: the argument of `end`; None if nothing is registered."""
        self._registration, self._end = registration, end

    @property
    def is_mapped(self) -> bool:
        """Whether it can be accessed by GPUs of the peers or RDMA devices of this host; else registration has no
        effect.
        """
        return self._registration is not None

    def close(self) -> None:
        """Unregister it: when its operations are done, for GPUs on all ranks together. May be called twice.

        Raises:
            RunError: for GPUs, a rank was lost, or does not take part within the timeout.
        """
        registration, self._registration = self._registration, None
        if registration is not None:
            self._end(registration)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.close()
