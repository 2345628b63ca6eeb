# SPDX-License-Identifier: Apache-2.0
"""Connections to a listener that have not said who they are. Anybody can open many, and none may keep our own out."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Generic, TypeVar

LEAST = 16
Connection = TypeVar("Connection")


class Strangers(Generic[Connection]):
    """The connections, by the host that they come from; names are HOST:PORT. There is room for `most`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._of: defaultdict[str, dict[Connection, None]] = defaultdict(dict)

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def __iter__(self) -> Iterator[Connection]:
        """Those that are here, which may be removed meanwhile."""
        return iter([one for those in self._of.values() for one in those])

    def add(self, connection: Connection, name: str) -> None:
        """Add one that has just come."""
        self._of[_host(name)][connection] = None

    def remove(self, connection: Connection, name: str) -> None:
        """One is gone, or has said who it is; harmless when called twice."""
        those = self._of[_host(name)]
        those.pop(connection, None)
        if not those:
            del self._of[_host(name)]

    def leave_files(self) -> None:
        """The process ran out of files: from now on there is room for half of those that are here."""
        self.most = max(LEAST, len(self) // 2)

    def surplus(self) -> Iterator[Connection]:
        """Who has to go, to be removed before the next is asked for: the oldest of the host with most."""
        while len(self) > self.most:
            crowd = max(self._of, key=lambda host: len(self._of[host]))
            yield next(iter(self._of[crowd]))


def _host(name: str) -> str:
    return name.rpartition(":")[0]
