# SPDX-License-Identifier: Apache-2.0
"""An array that is registered with what may reach it without a copy: GPUs of the peers, RDMA devices of this host."""

from collections.abc import Callable
from types import TracebackType
from typing import Self


class Registered:
    """An array of the caller's that is registered, until `close`; it has to live as long."""

    def __init__(self, window: int | None, end: Callable[[int], None]) -> None:
        """`window`: what `end` is to be told; None where nothing is registered."""
        self._window, self._end = window, end

    @property
    def is_mapped(self) -> bool:
        """Whether it can be reached: by GPUs of the peers, by RDMA devices of this host; else all goes as without."""
        return self._window is not None

    def close(self) -> None:
        """Take it back: when its operations are done, of GPUs on all ranks together. Calling it twice is harmless.

        Raises:
            RunError: of GPUs, a rank was lost, or does not come within the timeout.
        """
        window, self._window = self._window, None
        if window is not None:
            self._end(window)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.close()
