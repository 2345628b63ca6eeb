# SPDX-License-Identifier: Apache-2.0
"""A store that has its Values in this process: a HashStore for its threads, a FileStore synchronised with its file."""

import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta

from railgauge.transports.store.store import Store, as_key, as_value, late
from railgauge.transports.store.values import Values

FIRST_PAUSE_S = 0.001
LONGEST_PAUSE_S = 0.1


class ValuesStore(Store):
    """Every operation of a store, on values held exclusively for its duration."""

    @abstractmethod
    def _exclusive(self) -> AbstractContextManager[Values]:
        """The values, up to date and held exclusively; leaving publishes the changes."""

    @abstractmethod
    def _pause(self, version: int, limit_s: float) -> None:
        """Wait for values newer than `version`, which may exist already, for at most `limit_s` seconds."""

    @abstractmethod
    def _name(self) -> str:
        """The name of this store in messages."""

    def set(self, key: str, value: bytes | str) -> None:
        """See Store."""
        with self._exclusive() as values:
            values.set(as_key(key), as_value(value))

    def add(self, key: str, amount: int) -> int:
        """See Store."""
        with self._exclusive() as values:
            return values.add(as_key(key), amount)

    def append(self, key: str, value: bytes | str) -> None:
        """See Store."""
        with self._exclusive() as values:
            values.append(as_key(key), as_value(value))

    def compare_set(self, key: str, expected_value: bytes | str, desired_value: bytes | str) -> bytes:
        """See Store."""
        with self._exclusive() as values:
            return values.compare_set(as_key(key), as_value(expected_value), as_value(desired_value))

    def check(self, keys: Sequence[str]) -> bool:
        """See Store."""
        with self._exclusive() as values:
            return not values.missing(map(as_key, keys))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """See Store."""
        self._await([as_key(key) for key in keys], self.timeout if timeout is None else timeout)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """See Store."""
        return self._await([as_key(key) for key in keys], self.timeout)

    def delete_key(self, key: str) -> bool:
        """See Store."""
        with self._exclusive() as values:
            return values.delete(as_key(key))

    def num_keys(self) -> int:
        """See Store."""
        with self._exclusive() as values:
            return len(values)

    def _await(self, keys: list[bytes], timeout: timedelta) -> list[bytes]:
        deadline = time.monotonic() + timeout.total_seconds()
        for pause_s in _pauses():
            with self._exclusive() as values:
                version, missing = values.version, values.missing(keys)
                if not missing:
                    return [values.get(key) or b"" for key in keys]
            if (left := deadline - time.monotonic()) <= 0:
                raise late(timeout, missing, self._name())
            self._pause(version, min(left, pause_s))
        raise AssertionError  # the pauses have no end


def _pauses() -> Iterator[float]:
    pause_s = FIRST_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
