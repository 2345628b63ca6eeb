# SPDX-License-Identifier: Apache-2.0
"""Unauthenticated connections to a listener. Anyone can open many, and they must not keep the job's own out."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Generic, TypeVar

LEAST = 16
Connection = TypeVar("Connection")


class PendingConnections(Generic[Connection]):
    """The connections by remote host; names are HOST:PORT. The limit is `most`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._of: defaultdict[str, dict[Connection, None]] = defaultdict(dict)

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def __iter__(self) -> Iterator[Connection]:
        """The open connections, which may be removed meanwhile."""
        return iter([one for those in self._of.values() for one in those])

    def add(self, connection: Connection, name: str) -> None:
        """Add a new connection."""
        self._of[_host(name)][connection] = None

    def remove(self, connection: Connection, name: str) -> None:
        """Remove one that is gone or has authenticated; may be called twice."""
        those = self._of[_host(name)]
        those.pop(connection, None)
        if not those:
            del self._of[_host(name)]

    def leave_files(self) -> None:
        """The process ran out of files: lower the limit to half of the connections that are open."""
        self.most = max(LEAST, len(self) // 2)

    def surplus(self) -> Iterator[Connection]:
        """The connection to drop, the oldest of the host with most; remove it before asking for the next."""
        while len(self) > self.most:
            crowd = max(self._of, key=lambda host: len(self._of[host]))
            yield next(iter(self._of[crowd]))


def _host(name: str) -> str:
    return name.rpartition(":")[0]
