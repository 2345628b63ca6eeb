# SPDX-License-Identifier: Apache-2.0
"""A store that rank 0 runs over TCP, for our clients and PyTorch's; and the client of such a store, or PyTorch's."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from railgauge.topo.errors import PeerLostError, RunError, UsageError, WaitTimeoutError
from railgauge.transports.store import torch_wire as wire
from railgauge.transports.store.connection import StoreConnection, connect
from railgauge.transports.store.store import DEFAULT_TIMEOUT, Store, as_key, as_value, check_pairs, late
from railgauge.transports.store.torch_wire import INT64, Query, pack

if TYPE_CHECKING:
    from railgauge.transports.store.tcp_server import StoreServer

KEY_PREFIX = "/"
"""torch's clients put it before every key of a TCPStore."""
JOINED = b"init/"
"""The key, without the prefix, in which torch's clients count themselves."""
GRACE_S = 5.0
"""Limit of an answer that needs no waiting, in seconds, whatever the timeout."""
POLL_S = 0.01


class TCPStore(Store):
    """Names and argument order of torch.distributed.TCPStore.

    `host_name` and `port` are where the server is; with `is_master` it is started here, on that address only (port 0:
    any free one, see `port`), or on `master_listen_fd`, a listening socket. With a `world_size`, the master waits for
    so many clients, unless `wait_for_workers` is off. `secret` is the job secret, b"" for none.

    Raises:
        UsageError: the master's address or port cannot be used.
        AuthenticationError: the server has another job secret.
        WaitTimeoutError: no server answered, or some workers did not connect, within the timeout.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        *,
        master_listen_fd: int | None = None,
        secret: bytes = b"",
    ) -> None:
        super().__init__(timeout)
        self.host = host_name
        self.port = port
        self._secret = secret
        self._lock = threading.Lock()
        self._idle: list[StoreConnection] = []
        self._all: set[StoreConnection] = set()
        self._closed = False
        self._server = self._serve(master_listen_fd) if is_master else None
        self._process = os.getpid()
        try:
            with self._connection():
                pass  # the server is there, and is a store's
            if world_size and world_size > 0 and wait_for_workers:
                self._join(world_size)
        except BaseException:
            self.close()
            raise

    def refused(self) -> list[str]:
        """See Store."""
        return self._server.refused() if self._server else []

    def set(self, key: str, value: bytes | str) -> None:
        """See Store."""
        self._tell(pack(Query.SET, _key(key), as_value(value)))

    def append(self, key: str, value: bytes | str) -> None:
        """See Store."""
        self._tell(pack(Query.APPEND, _key(key), as_value(value)))

    def multi_set(self, keys: Sequence[str], values: Sequence[bytes | str]) -> None:
        """See Store."""
        check_pairs(keys, values)
        pairs = [part for key, value in zip(_keys(keys), values, strict=True) for part in (key, as_value(value))]
        self._tell(pack(Query.MULTI_SET, len(keys), *pairs))

    def add(self, key: str, amount: int) -> int:
        """See Store. The server drops a client that adds to a value that is not a number; the error then is a
        PeerLostError.
        """
        return self._ask_number(pack(Query.ADD, _key(key), amount))

    def compare_set(self, key: str, expected_value: bytes | str, desired_value: bytes | str) -> bytes:
        """See Store."""
        with self._connection() as connection:
            deadline = self._deadline()
            request = pack(Query.COMPARE_SET, _key(key), as_value(expected_value), as_value(desired_value))
            connection.send(request, deadline)
            return connection.receive_value(deadline)

    def check(self, keys: Sequence[str]) -> bool:
        """See Store."""
        with self._connection() as connection:
            deadline = self._deadline()
            connection.send(pack(Query.CHECK, len(keys), *_keys(keys)), deadline)
            return connection.receive(1, deadline) == wire.READY

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """See Store."""
        limit = self.timeout if timeout is None else timeout
        with self._connection() as connection:
            missing = _wait(connection, _keys(keys), limit)
        self._be_there(missing, limit)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """See Store."""
        wanted, values = _keys(keys), []
        with self._connection() as connection:
            missing = _wait(connection, wanted, self.timeout)
            if not missing:
                deadline = self._deadline()
                connection.send(pack(Query.MULTI_GET, len(wanted), *wanted), deadline)
                values = [connection.receive_value(deadline) for _ in wanted]
        self._be_there(missing, self.timeout)
        return values

    def delete_key(self, key: str) -> bool:
        """See Store."""
        return self._ask_number(pack(Query.DELETE_KEY, _key(key))) > 0

    def num_keys(self) -> int:
        """See Store; the key in which clients count themselves is one of them when there was a `world_size`."""
        return self._ask_number(pack(Query.GETNUMKEYS))

    def close(self) -> None:
        """Leave; the master ends the server, which ends the waits of all its clients."""
        with self._lock:
            self._closed = True
            for connection in self._all:
                connection.interrupt()
            self._all.difference_update(self._idle)
            while self._idle:
                self._idle.pop().close()
        if self._server:
            self._server.stop()

    def __del__(self) -> None:
        if getattr(self, "_process", None) == os.getpid():  # a fork's copy must not end its parent's connections
            self.close()

    def _serve(self, descriptor: int | None) -> "StoreServer":
        # Most processes are clients only; and the server's module is also run as a program.
        from railgauge.transports.store.listen import adopt, listen
        from railgauge.transports.store.tcp_server import StoreServer

        listeners = listen(self.host, self.port) if descriptor is None else [adopt(descriptor)]
        server = StoreServer(listeners, self._secret)
        server.start()
        self.port = server.addresses[0][1]
        return server

    def _join(self, world_size: int) -> None:
        """Count this client; the master waits until all are there, as torch's does."""
        here = self._ask_number(pack(Query.ADD, JOINED, 1))
        deadline = time.monotonic() + self.timeout.total_seconds()
        while self._server and here < world_size:
            if time.monotonic() > deadline:
                raise WaitTimeoutError(
                    f"waited {self.timeout.total_seconds():g} s for the {world_size} workers of the store at "
                    f"{self.host} port {self.port}: {here} came"
                )
            time.sleep(POLL_S)
            here = self._ask_number(pack(Query.ADD, JOINED, 0))

    @contextmanager
    def _connection(self) -> Iterator[StoreConnection]:
        """A connection for one exchange: an idle one, else a new one, so that no thread waits for another's."""
        with self._lock:
            if self._closed:
                raise UsageError("the store is closed")
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is None:
                connection = self._connect()
            yield connection
        except BaseException as error:
            if connection:
                self._let_go(connection)
            if isinstance(error, RunError) and self._server and self._server.error:
                raise self._server.error from None  # why the server of this process does not answer
            raise
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        self._let_go(connection)

    def _connect(self) -> StoreConnection:
        host = self._server.addresses[0][0] if self._server else self.host
        connection = connect(host, self.port, self._secret, self.timeout.total_seconds())
        with self._lock:
            if not self._closed:
                self._all.add(connection)
                return connection
        connection.close()
        raise UsageError("the store was closed meanwhile")

    def _let_go(self, connection: StoreConnection) -> None:
        with self._lock:
            self._all.discard(connection)
        connection.close()

    def _tell(self, request: bytes) -> None:
        """Send a request that has no answer of its own, and wait until it has been executed."""
        with self._connection() as connection:
            connection.send(request + pack(Query.GETNUMKEYS), self._deadline())
            connection.receive(INT64.size, self._deadline())

    def _ask_number(self, request: bytes) -> int:
        with self._connection() as connection:
            connection.send(request, self._deadline())
            return int(INT64.unpack(connection.receive(INT64.size, self._deadline()))[0])

    def _deadline(self) -> float:
        return time.monotonic() + max(self.timeout.total_seconds(), GRACE_S)

    def _be_there(self, missing: list[bytes], timeout: timedelta) -> None:
        if missing:
            names = [key.removeprefix(KEY_PREFIX.encode()) for key in missing]
            raise late(timeout, names, f"the store at {self.host} port {self.port}")


def _key(key: str) -> bytes:
    return as_key(KEY_PREFIX + key)


def _keys(keys: Sequence[str]) -> list[bytes]:
    if len(keys) > wire.MAX_KEYS:
        raise UsageError(f"{len(keys)} keys at once: a store accepts {wire.MAX_KEYS}")
    return [_key(key) for key in keys]


def _wait(connection: StoreConnection, keys: list[bytes], timeout: timedelta) -> list[bytes]:
    """Wait until all keys are there; return those that are missing when the time is up."""
    deadline = time.monotonic() + timeout.total_seconds()
    connection.send(pack(Query.WAIT, len(keys), *keys), deadline + GRACE_S)
    try:
        _expect(connection.receive(1, deadline), wire.STOP_WAITING)
    except WaitTimeoutError:
        return _cancel(connection, keys)
    return []


def _cancel(connection: StoreConnection, keys: list[bytes]) -> list[bytes]:
    """End a wait, which may have been answered meanwhile, and ask which keys are missing."""
    deadline = time.monotonic() + GRACE_S
    connection.send(pack(Query.CANCEL_WAIT), deadline)
    if connection.receive(1, deadline) == wire.STOP_WAITING:
        _expect(connection.receive(1, deadline), wire.WAIT_CANCELED)
    connection.send(b"".join(pack(Query.CHECK, 1, key) for key in keys), deadline)
    answers = connection.receive(len(keys), deadline)
    return [key for key, answer in zip(keys, answers, strict=True) if answer != wire.READY[0]]


def _expect(answer: bytes, wanted: bytes) -> None:
    if answer != wanted:
        raise PeerLostError(f"invalid answer {answer!r} of the store to a wait")
