# SPDX-License-Identifier: Apache-2.0
"""What a store's operations do to its values; the same for every store that is held in memory, a file or a server."""

import re
from collections.abc import Iterable

from railgauge.topo.errors import UsageError
from railgauge.transports.store.store import as_value

NUMBER = re.compile(rb"\s*([+-]?\d{1,19})(?!\d)")
"""What C's strtoll, which torch's stores read counters with, takes of a text."""

ENTRY = 128
"""Bytes that a key with its value takes beside those of both."""


def _size(key: bytes, value: bytes) -> int:
    return ENTRY + len(key) + len(value)


class Values:
    """Keys to bytes. `version` grows with each change; `take_changes` tells which keys changed."""

    def __init__(self) -> None:
        self.version = 0
        self.held = 0
        """Bytes of all keys and values, and ENTRY for each."""
        self._of: dict[bytes, bytes] = {}
        self._changed: list[bytes] = []

    def __len__(self) -> int:
        return len(self._of)

    def get(self, key: bytes) -> bytes | None:
        """The value, None when there is none."""
        return self._of.get(key)

    def missing(self, keys: Iterable[bytes]) -> list[bytes]:
        """Those of the keys that are not there."""
        return [key for key in keys if key not in self._of]

    def set(self, key: bytes, value: bytes) -> None:
        """Put a value."""
        self.held += len(value) - len(self._of[key]) if key in self._of else _size(key, value)
        self._of[key] = value
        self._note(key)

    def append(self, key: bytes, value: bytes) -> None:
        """Put a value behind the one that is there.

        Raises:
            UsageError: both together are longer than stores take.
        """
        self.set(key, as_value(self._of.get(key, b"") + value))

    def add(self, key: bytes, amount: int) -> int:
        """Add to a counter of 64 bits.

        Raises:
            UsageError: the value is no number.
        """
        there = NUMBER.match(self._of.get(key, b"0"))
        if there is None:
            raise UsageError(
                f"cannot add to {key.decode(errors='replace')}: it holds {self._of[key][:40]!r}, no number"
            )
        total = (int(there[1]) + amount + 2**63) % 2**64 - 2**63
        self.set(key, b"%d" % total)
        return total

    def compare_set(self, key: bytes, expected: bytes, desired: bytes) -> bytes:
        """See Store; torch's answer to an expectation of a key that is absent included."""
        there = self._of.get(key)
        if there is None and expected:
            return expected
        if there is None or there == expected:
            self.set(key, desired)
        return self._of[key]

    def delete(self, key: bytes) -> bool:
        """Remove a key; whether it was there."""
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
