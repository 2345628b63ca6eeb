# SPDX-License-Identifier: Apache-2.0
"""What the stores of launchers have in common: values are put once, and polled.

They have no counters and no removal, and hold short text only, so values are sent as hex.
"""

import time
from abc import abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from typing import ClassVar, NoReturn

from railgauge.topo.errors import RunError, UsageError
from railgauge.transports.store.store import Store, as_key, as_value, late

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.001, 0.2
"""Seconds between two polls: a thousand waiting processes then ask one launcher 5,000 times a second."""


class LauncherStore(Store):
    """Keys and values that a launcher holds for the processes it started: set, get, wait and check."""

    NAME: ClassVar[str]
    MAX_KEY: ClassVar[int]
    MAX_VALUE: ClassVar[int]
    """Maximum bytes of one value; twice that in hex."""

    def __init__(self, timeout: timedelta) -> None:
        super().__init__(timeout)
        self._own: dict[str, bytes] = {}

    @abstractmethod
    def _put(self, key: str, text: str) -> None:
        """Publish a value through the launcher."""

    @abstractmethod
    def _find(self, key: str) -> str | None:
        """The text of a value, None if nobody has put it."""

    def set(self, key: str, value: bytes | str) -> None:
        """See Store.

        Raises:
            UsageError: the key or the value is too long for this launcher.
        """
        encoded = as_value(value)
        if len(encoded) > self.MAX_VALUE:
            raise UsageError(f"{self.NAME} accepts values of at most {self.MAX_VALUE} bytes: {key} has {len(encoded)}")
        self._put(self._checked(key), encoded.hex())
        self._own[key] = encoded

    def compare_set(self, key: str, expected_value: bytes | str, desired_value: bytes | str) -> bytes:
        """Put the value unless this process has put one, and return what it has put.

        A launcher numbers its processes, so no two share a key. An expectation other than "": UsageError.
        """
        if expected_value:
            self._refuse("compare_set with an expected value")
        if key not in self._own:
            self.set(key, desired_value)
        return self._own[key]

    def check(self, keys: Sequence[str]) -> bool:
        """See Store."""
        return all(self._find(self._checked(key)) is not None for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """See Store."""
        self._await(keys, self.timeout if timeout is None else timeout)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """See Store.

        Raises:
            RunError: another program has put a value there.
        """
        found = self._await(keys, self.timeout)
        try:
            return [bytes.fromhex(found[key]) for key in keys]
        except ValueError:
            raise RunError(
                f"the launcher's {self.NAME} holds a value of another program at {', '.join(keys)}"
            ) from None

    def add(self, key: str, amount: int) -> int:
        """Not supported: UsageError."""
        self._refuse("add")

    def append(self, key: str, value: bytes | str) -> None:
        """Not supported: UsageError."""
        self._refuse("append")

    def delete_key(self, key: str) -> bool:
        """Not supported: UsageError."""
        self._refuse("delete_key")

    def num_keys(self) -> int:
        """Not supported: UsageError."""
        self._refuse("num_keys")

    def _await(self, keys: Sequence[str], timeout: timedelta) -> dict[str, str]:
        """The text of all keys, once they are there."""
        found: dict[str, str] = {}
        deadline, pause_s = time.monotonic() + timeout.total_seconds(), FIRST_PAUSE_S
        while True:
            for key in keys:
                if key not in found and (text := self._find(self._checked(key))) is not None:
                    found[key] = text
            missing = [as_key(key) for key in keys if key not in found]
            if not missing:
                return found
            if time.monotonic() > deadline:
                raise late(timeout, missing, f"the launcher's {self.NAME}")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _checked(self, key: str) -> str:
        """The key, if it is one word that the launcher accepts."""
        if len(key) > self.MAX_KEY or not key.isascii() or not key.isprintable() or " " in key or "=" in key:
            raise UsageError(
                f"{self.NAME} accepts keys of up to {self.MAX_KEY} characters without spaces and '=': {key!r}"
            )
        return key

    def _refuse(self, what: str) -> NoReturn:
        raise UsageError(f"{self.NAME} has no {what}: use env://, tcp:// or file:// for a job that needs it")
