# SPDX-License-Identifier: Apache-2.0
"""What a TCPStore's server does for each request of torch_wire.py; it moves no bytes itself."""

from collections import defaultdict
from collections.abc import Callable
from typing import Generic, TypeVar

from railgauge.transports.store import torch_wire as wire
from railgauge.transports.store.torch_wire import INT64, Query, WireError, pack_bytes
from railgauge.transports.store.values import Values

MAX_REPLY = 64 * 1024 * 1024
"""Maximum bytes of the answer to one request."""


class Asker:
    """A client: `out` is where answers to it go, `awaited` the keys that it waits for."""

    __slots__ = ("awaited", "out")

    def __init__(self) -> None:
        self.out = bytearray()
        self.awaited: set[bytes] = set()


AskerT = TypeVar("AskerT", bound=Asker)


class ServedValues(Generic[AskerT]):
    """The values, and which clients wait for which."""

    def __init__(self) -> None:
        self._values = Values()
        self._waiters: defaultdict[bytes, set[AskerT]] = defaultdict(set)
        self._do: dict[Query, Callable[..., None]] = {
            Query.SET: self._set,
            Query.COMPARE_SET: self._compare_set,
            Query.GET: self._get,
            Query.ADD: self._add,
            Query.CHECK: self._check,
            Query.WAIT: self._wait,
            Query.GETNUMKEYS: self._count,
            Query.DELETE_KEY: self._delete,
            Query.APPEND: self._append,
            Query.MULTI_GET: self._multi_get,
            Query.MULTI_SET: self._multi_set,
            Query.CANCEL_WAIT: self._cancel_wait,
            Query.PING: self._ping,
        }

    def handle(self, asker: AskerT, query: Query, fields: list[bytes]) -> list[AskerT]:
        """Handle a request; return the other clients that have an answer now.

        Raises:
            WireError: the answer is too large. UsageError: as of Values.
        """
        self._do[query](asker, *fields)
        changed = [key for key in self._values.take_changes() if key in self._waiters]
        return [woken for key in changed if self._values.get(key) is not None for woken in self._wake(key)]

    @property
    def held(self) -> int:
        """Size of the values in bytes."""
        return self._values.held

    def forget(self, asker: AskerT) -> None:
        """End its wait, if it has one."""
        for key in asker.awaited:
            self._waiters[key].discard(asker)
            if not self._waiters[key]:
                del self._waiters[key]
        asker.awaited.clear()

    def _wake(self, key: bytes) -> list[AskerT]:
        """Answer those for whom this key was the last missing one."""
        waiters = self._waiters.pop(key, set())
        for asker in waiters:
            asker.awaited.discard(key)
        woken = [asker for asker in waiters if not asker.awaited]
        for asker in woken:
            asker.out += wire.STOP_WAITING
        return woken

    def _set(self, asker: AskerT, key: bytes, value: bytes) -> None:
        self._values.set(key, value)

    def _append(self, asker: AskerT, key: bytes, value: bytes) -> None:
        self._values.append(key, value)

    def _compare_set(self, asker: AskerT, key: bytes, expected: bytes, desired: bytes) -> None:
        asker.out += pack_bytes(self._values.compare_set(key, expected, desired))

    def _get(self, asker: AskerT, key: bytes) -> None:
        asker.out += pack_bytes(self._values.get(key) or b"")

    def _add(self, asker: AskerT, key: bytes, amount: bytes) -> None:
        asker.out += INT64.pack(self._values.add(key, *INT64.unpack(amount)))

    def _check(self, asker: AskerT, *keys: bytes) -> None:
        asker.out += wire.NOT_READY if self._values.missing(keys) else wire.READY

    def _wait(self, asker: AskerT, *keys: bytes) -> None:
        self.forget(asker)
        asker.awaited.update(self._values.missing(keys))
        for key in asker.awaited:
            self._waiters[key].add(asker)
        if not asker.awaited:
            asker.out += wire.STOP_WAITING

    def _cancel_wait(self, asker: AskerT) -> None:
        self.forget(asker)
        asker.out += wire.WAIT_CANCELED

    def _count(self, asker: AskerT) -> None:
        asker.out += INT64.pack(len(self._values))

    def _delete(self, asker: AskerT, key: bytes) -> None:
        asker.out += INT64.pack(self._values.delete(key))

    def _multi_get(self, asker: AskerT, *keys: bytes) -> None:
        values = [self._values.get(key) or b"" for key in keys]
        if sum(map(len, values)) > MAX_REPLY:
            raise WireError(f"it requested more than {MAX_REPLY} bytes at once")
        asker.out += b"".join(map(pack_bytes, values))

    def _multi_set(self, asker: AskerT, *keys_and_values: bytes) -> None:
        for key, value in zip(keys_and_values[::2], keys_and_values[1::2], strict=True):
            self._values.set(key, value)

    def _ping(self, asker: AskerT, nonce: bytes) -> None:
        asker.out += nonce
