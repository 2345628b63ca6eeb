# SPDX-License-Identifier: Apache-2.0
"""An operation on a GPU's stream, to be waited for."""

from collections.abc import Callable
from typing import Any

from railgauge._native import collectives as native
from railgauge.topo.errors import UsageError


class GpuWork:
    """An operation on a stream, which may have been destroyed before the operation is waited for."""

    def __init__(self, wait: Callable[[native.GpuMark], None], destination: Any) -> None:
        self._wait, self._destination = wait, destination
        self._mark: native.GpuMark | None = None
        self._is_put = False

    def put(self, mark: native.GpuMark | None) -> "GpuWork":
        """It is on a stream now, and done at the mark; None: the stream is captured into a CUDA graph."""
        self._mark, self._is_put = mark, True
        return self

    def wait(self) -> Any:
        """Wait until it is done, and return its destination.

        Raises:
            RunError: a rank did not take part within the timeout.
            UsageError: it has been captured into a CUDA graph, since only replays run it, or its group has not ended.
        """
        if not self._is_put:
            raise UsageError("wait: the group of this send or receive has not ended: wait after it")
        if self._mark is None:
            raise UsageError(
                "wait: the operation was captured into a CUDA graph: wait for the stream on which the graph is replayed"
            )
        self._wait(self._mark)
        return self._destination
