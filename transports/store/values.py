# SPDX-License-Identifier: Apache-2.0
"""What a store's operations do to its values; the same for stores in memory, in a file and on a server."""

import re
from collections.abc import Iterable

from railgauge.topo.errors import UsageError
from railgauge.transports.store.store import as_value

NUMBER = re.compile(rb"\s*([+-]?\d{1,19})(?!\d)")
"""The part of a text that C's strtoll, with which torch's stores read counters, accepts."""

ENTRY = 128
"""Overhead of a key and its value in bytes."""


def _size(key: bytes, value: bytes) -> int:
    return ENTRY + len(key) + len(value)


class Values:
    """Keys to bytes. `version` grows with each change; `take_changes` returns the keys that changed."""

    def __init__(self) -> None:
        self.version = 0
        self.held = 0
        """Bytes of all keys and values, plus ENTRY for each."""
        self._of: dict[bytes, bytes] = {}
        self._changed: list[bytes] = []

    def __len__(self) -> int:
        return len(self._of)

    def get(self, key: bytes) -> bytes | None:
        """The value, None when there is none."""
        return self._of.get(key)

    def missing(self, keys: Iterable[bytes]) -> list[bytes]:
        """Those of the keys that are absent."""
        return [key for key in keys if key not in self._of]

    def set(self, key: bytes, value: bytes) -> None:
        """Put a value."""
        self.held += len(value) - len(self._of[key]) if key in self._of else _size(key, value)
        self._of[key] = value
        self._note(key)

    def append(self, key: bytes, value: bytes) -> None:
        """Append to the value.

        Raises:
            UsageError: the result is longer than stores accept.
        """
        self.set(key, as_value(self._of.get(key, b"") + value))

    def add(self, key: bytes, amount: int) -> int:
        """Add to a counter of 64 bits.

        Raises:
            UsageError: the value is not a number.
        """
        there = NUMBER.match(self._of.get(key, b"0"))
        if there is None:
            raise UsageError(
                f"cannot add to {key.decode(errors='replace')}: it holds {self._of[key][:40]!r}, which is not a number"
            )
        total = (int(there[1]) + amount + 2**63) % 2**64 - 2**63
        self.set(key, b"%d" % total)
        return total

    def compare_set(self, key: bytes, expected: bytes, desired: bytes) -> bytes:
        """See Store; including torch's answer to an expectation of an absent key."""
        there = self._of.get(key)
        if there is None and expected:
            return expected
        if there is None or there == expected:
            self.set(key, desired)
        return self._of[key]

    def delete(self, key: bytes) -> bool:
        """Remove a key; returns whether it existed."""
        if (value := self._of.pop(key, None)) is None:
            return False
        self.held -= _size(key, value)
        self._note(key)
        return True

    def take_changes(self) -> list[bytes]:
        """The keys that changed since the last call, in order."""
        changed, self._changed = self._changed, []
        return changed

    def _note(self, key: bytes) -> None:
        self.version += 1
        self._changed.append(key)
