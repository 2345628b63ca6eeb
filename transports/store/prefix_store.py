# SPDX-License-Identifier: Apache-2.0
"""A store within another: the keys of one job, or of one part of a job, kept apart from the others' by a prefix."""

from collections.abc import Sequence
from datetime import timedelta

from railgauge.transports.store.store import Store


class PrefixStore(Store):
    """Puts `prefix/` before every key. The timeout is the underlying store's, and closing closes that one."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix = prefix
        self._store = store

    @property
    def underlying_store(self) -> Store:
        """The store that the keys are in."""
        return self._store

    @property
    def timeout(self) -> timedelta:
        """See Store."""
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """See Store."""
        self._store.set_timeout(timeout)

    def refused(self) -> list[str]:
        """See Store."""
        return self._store.refused()

    def set(self, key: str, value: bytes | str) -> None:
        """See Store."""
        self._store.set(self._within(key), value)

    def add(self, key: str, amount: int) -> int:
        """See Store."""
        return self._store.add(self._within(key), amount)

    def append(self, key: str, value: bytes | str) -> None:
        """See Store."""
        self._store.append(self._within(key), value)

    def compare_set(self, key: str, expected_value: bytes | str, desired_value: bytes | str) -> bytes:
        """See Store."""
        return self._store.compare_set(self._within(key), expected_value, desired_value)

    def check(self, keys: Sequence[str]) -> bool:
        """See Store."""
        return self._store.check([self._within(key) for key in keys])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """See Store."""
        self._store.wait([self._within(key) for key in keys], timeout)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """See Store."""
        return self._store.multi_get([self._within(key) for key in keys])

    def multi_set(self, keys: Sequence[str], values: Sequence[bytes | str]) -> None:
        """See Store."""
        self._store.multi_set([self._within(key) for key in keys], values)

    def delete_key(self, key: str) -> bool:
        """See Store."""
        return self._store.delete_key(self._within(key))

    def num_keys(self) -> int:
        """How many keys the underlying store has, those of other prefixes included, as torch counts them."""
        return self._store.num_keys()

    def clone(self) -> "PrefixStore":
        """See Store."""
        return PrefixStore(self._prefix, self._store.clone())

    def close(self) -> None:
        """See Store."""
        self._store.close()

    def _within(self, key: str) -> str:
        return f"{self._prefix}/{key}"
