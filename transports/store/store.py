# SPDX-License-Identifier: Apache-2.0
"""The contract of every store: keys to bytes, shared by the processes of a job.

Names and semantics are torch.distributed.Store's: `get` and `wait` wait until a key exists, `add` counts in decimal
text, `compare_set` takes an empty expectation for a key that is absent. docs/internals/stores.md lists the differences.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import Self

from railgauge.topo.errors import UsageError, WaitTimeoutError

DEFAULT_TIMEOUT = timedelta(seconds=300)
MAX_KEY = 8 * 1024
MAX_VALUE = 8 * 1024 * 1024
"""Maximum bytes of one key and of one value; the limits of PyTorch's server (TCPStoreLibUvBackend.cpp)."""
NAMED = 8
"""How many keys a message names; it counts the others."""


class Store(ABC):
    """Keys (text) to values (bytes; text is taken as UTF-8). Every wait ends after `timeout`.

    Several threads may use one object at a time: a wait in one does not block the others.
    """

    def __init__(self, timeout: timedelta = DEFAULT_TIMEOUT) -> None:
        self._timeout = timeout

    @property
    def timeout(self) -> timedelta:
        """How long waits may take."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Change how long waits may take."""
        self._timeout = timeout

    def refused(self) -> list[str]:
        """Which connections the store's server rejected, and why, if it runs in this process."""
        return []

    @abstractmethod
    def set(self, key: str, value: bytes | str) -> None:
        """Put a value, replacing any that exists; once this returns, all see it."""

    @abstractmethod
    def add(self, key: str, amount: int) -> int:
        """Add to a counter, which starts at 0 and wraps at 64 bits; return its new value.

        Raises:
            Error: the existing value is not a number.
        """

    @abstractmethod
    def append(self, key: str, value: bytes | str) -> None:
        """Append to the value, which may be absent."""

    @abstractmethod
    def compare_set(self, key: str, expected_value: bytes | str, desired_value: bytes | str) -> bytes:
        """Put `desired_value` if the value is the expected one ("": absent); return the value afterwards.

        If the key is absent although a value was expected, `expected_value` is returned and nothing put, as in torch.
        """

    @abstractmethod
    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys exist."""

    @abstractmethod
    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys exist.

        Raises:
            WaitTimeoutError: they do not within `timeout` (default: the store's); the message names those that are
            missing.
        """

    @abstractmethod
    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys, waited for.

        Raises:
            WaitTimeoutError: as `wait`.
        """

    @abstractmethod
    def delete_key(self, key: str) -> bool:
        """Remove a key; returns whether it existed."""

    @abstractmethod
    def num_keys(self) -> int:
        """The number of keys."""

    def get(self, key: str) -> bytes:
        """The value of a key, waited for.

        Raises:
            WaitTimeoutError: nobody put it within the timeout.
        """
        return self.multi_get([key])[0]

    def multi_set(self, keys: Sequence[str], values: Sequence[bytes | str]) -> None:
        """Put several values, one after the other.

        Raises:
            UsageError: the numbers of keys and values differ.
        """
        check_pairs(keys, values)
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def clone(self) -> "Store":
        """A store of the same keys for another thread: this one, since threads may share it."""
        return self

    def close(self) -> None:  # noqa: B027  (a store may have nothing to let go of)
        """Release what the store holds; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def as_key(key: str) -> bytes:
    """A key as it is stored.

    Raises:
        UsageError: it is longer than stores accept.
    """
    encoded = key.encode()
    if len(encoded) > MAX_KEY:
        raise UsageError(f"a key of {len(encoded)} bytes ({key[:40]}...): stores accept keys of up to {MAX_KEY} bytes")
    return encoded


def as_value(value: bytes | str) -> bytes:
    """A value as it is stored.

    Raises:
        UsageError: it is longer than stores accept.
    """
    encoded = value.encode() if isinstance(value, str) else bytes(value)
    if len(encoded) > MAX_VALUE:
        raise UsageError(f"a value of {len(encoded)} bytes: stores accept values of up to {MAX_VALUE} bytes")
    return encoded


def check_pairs(keys: Sequence[str], values: Sequence[bytes | str]) -> None:
    """Raise UsageError unless there is a value for each key."""
    if len(keys) != len(values):
        raise UsageError(f"multi_set: {len(keys)} keys, but {len(values)} values")


def late(timeout: timedelta, missing: Sequence[bytes], where: str) -> WaitTimeoutError:
    """The error of a wait that timed out; `where` names the store."""
    names = ", ".join(key.decode(errors="replace") for key in missing[:NAMED])
    others = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    return WaitTimeoutError(
        f"waited {timeout.total_seconds():g} s for {names}{others} in {where}: no process has put it there"
    )
