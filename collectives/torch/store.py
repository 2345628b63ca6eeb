# SPDX-License-Identifier: Apache-2.0
"""A store of torch.distributed as one of ours: what its processes join through."""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from torch.distributed import DistError, PrefixStore

from railgauge.topo.errors import PeerLostError, WaitTimeoutError
from railgauge.transports.store.store import Store


class TorchStore(Store):
    """The keys of a torch store, which may be a TCPStore of torchrun's agent, a FileStore, or a prefix of either."""

    def __init__(self, store: Any, timeout: timedelta) -> None:
        super().__init__(timeout)
        self._store = store

    def set(self, key: str, value: bytes | str) -> None:
        """See Store."""
        with _failures():
            self._store.set(key, value if isinstance(value, str) else bytes(value))

    def add(self, key: str, amount: int) -> int:
        """See Store."""
        with _failures():
            return int(self._store.add(key, amount))

    def append(self, key: str, value: bytes | str) -> None:
        """See Store."""
        with _failures():
            self._store.append(key, value)

    def compare_set(self, key: str, expected_value: bytes | str, desired_value: bytes | str) -> bytes:
        """See Store."""
        with _failures():
            return bytes(self._store.compare_set(key, _text(expected_value), _text(desired_value)))

    def check(self, keys: Sequence[str]) -> bool:
        """See Store."""
        with _failures():
            return bool(self._store.check(list(keys)))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """See Store."""
        with _failures():
            self._store.wait(list(keys), timeout or self.timeout)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """See Store."""
        self.wait(keys)
        with _failures():
            return [self._store.get(key) for key in keys]

    def delete_key(self, key: str) -> bool:
        """See Store."""
        with _failures():
            return bool(self._store.delete_key(key))

    def num_keys(self) -> int:
        """See Store."""
        with _failures():
            return int(self._store.num_keys())

    def clone(self) -> "TorchStore":
        """A connection of its own, since a torch store that waits holds up its other threads."""
        return TorchStore(self._store.clone() if hasattr(self._store, "clone") else self._store, self.timeout)


def store_of(members: Sequence[int], store: Any) -> Any:
    """The keys of a group of these ranks: torch numbers calls of new_group by process, so that groups of others
    may have its name.
    """
    return PrefixStore(hashlib.sha256(str(list(members)).encode()).hexdigest()[:16], store)


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Raise what torch's store raises as our errors."""
    try:
        yield
    except (DistError, RuntimeError) as error:
        text = str(error).partition("\n")[0]
        if "timeout" in text.lower() or "timed out" in text.lower():
            raise WaitTimeoutError(f"torch's store: {text}") from error
        raise PeerLostError(f"torch's store: {text}") from error


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else bytes(value).decode("latin-1")
