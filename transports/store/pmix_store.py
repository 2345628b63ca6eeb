# SPDX-License-Identifier: Apache-2.0
"""PMIx, the rendezvous of Open MPI's mpirun (4 and 5) and prterun: values are published and looked up.

Publish and lookup take no rank, unlike put and get, so a reader need not know which rank puts a key.
"""

import os
import stat
import threading
from collections.abc import Mapping
from datetime import timedelta

from railgauge.topo.errors import UnavailableError
from railgauge.transports.store.file_store import FileStore
from railgauge.transports.store.launcher_store import LauncherStore
from railgauge.transports.store.pmix_library import open_library
from railgauge.transports.store.store import DEFAULT_TIMEOUT, Store

LOOKUP_S = 10
"""A lookup is answered at once, whether the value exists or not; this limit is for a server that is stuck."""


class PMIxStore(LauncherStore):
    """The keys of this job in its launcher's PMIx server."""

    NAME = "PMIx"
    MAX_KEY = 255
    MAX_VALUE = 64 * 1024

    def __init__(self, timeout: timedelta = DEFAULT_TIMEOUT) -> None:
        super().__init__(timeout)
        self._one_at_a_time = threading.Lock()
        self._library = open_library()
        self._job = self._library.process.namespace.decode(errors="replace")

    def _put(self, key: str, text: str) -> None:
        with self._one_at_a_time:
            self._library.publish(self._within(key), text)

    def _find(self, key: str) -> str | None:
        with self._one_at_a_time:
            return self._library.lookup(self._within(key), LOOKUP_S)

    def _within(self, key: str) -> str:
        """The key with this job's prefix: one server may hold the keys of several jobs."""
        return f"{self._job}/{key}"


def open_pmix(processes: int, timeout: timedelta, environ: Mapping[str, str]) -> Store:
    """The launcher's PMIx; without it, processes of one host use a file in the directory that mpirun made for them.

    Raises:
        UnavailableError: there is no library or no server, and there are several hosts; the message says what to do.
    """
    try:
        return PMIxStore(timeout)
    except UnavailableError as error:
        folder = environ.get("PMIX_SERVER_TMPDIR", "")
        if environ.get("OMPI_COMM_WORLD_LOCAL_SIZE") == str(processes) and _is_private(folder):
            return FileStore(f"{folder}/railgauge-{environ.get('PMIX_NAMESPACE', '')}", processes, timeout)
        raise UnavailableError(
            f"{error}: mpirun -x MASTER_ADDR=<host of rank 0> -x MASTER_PORT=29500 works without it"
        ) from None


def job_size() -> int:
    """How many processes the launcher started, as its server says.

    Raises:
        UnavailableError: there is no library, or no server answers.
    """
    return open_library().job_size()


def _is_private(folder: str) -> bool:
    """Whether the directory exists, belongs to this user, and is closed to others."""
    try:
        status = os.stat(folder)
    except OSError:
        return False
    mine = status.st_uid == os.getuid()
    return mine and stat.S_ISDIR(status.st_mode) and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
