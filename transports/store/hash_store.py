# SPDX-License-Identifier: Apache-2.0
"""A store for the threads of one process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from railgauge.transports.store.store import DEFAULT_TIMEOUT
from railgauge.transports.store.values import Values
from railgauge.transports.store.values_store import ValuesStore


class HashStore(ValuesStore):
    """A dictionary, shared by the threads that use the object."""

    def __init__(self, timeout: timedelta = DEFAULT_TIMEOUT) -> None:
        super().__init__(timeout)
        self._values = Values()
        self._changed = threading.Condition()

    @contextmanager
    def _exclusive(self) -> Iterator[Values]:
        with self._changed:
            yield self._values
            if self._values.take_changes():
                self._changed.notify_all()

    def _pause(self, version: int, limit_s: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._values.version != version, limit_s)

    def _name(self) -> str:
        return "the store"
