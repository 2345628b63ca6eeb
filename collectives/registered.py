# SPDX-License-Identifier: Apache-2.0
"""An array that is registered for access without a copy: by GPUs of the peers, by RDMA devices of this host."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from railgauge._native import collectives as native
from railgauge.collectives.connections import Connections


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


class RegisteredArrays:
    """The arrays of a communicator that RDMA devices send from."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._held: dict[int, list[Any]] = {}
        """By address, once for each registration."""

    def add(self, array: Any) -> Registered:
        """Register one; errors are those of `Communicator.register`."""
        address, size = native.place_of(array)
        if not size or not self._connections.register(address, size):
            return Registered(None, lambda _: None)
        held = self._held.setdefault(address, [])
        held.append(array)

        def end(address: int) -> None:
            self._connections.deregister(address, size)
            held.pop()

        return Registered(address, end)
