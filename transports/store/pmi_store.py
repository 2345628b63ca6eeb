# SPDX-License-Identifier: Apache-2.0
"""PMI-1, the rendezvous of MPICH's process manager (hydra), Intel MPI's, MVAPICH's, gforker and Flux.

The process inherits a socket (PMI_FD). Requests and answers are lines of `cmd=NAME key=value ...`, as in MPICH's
src/pmi/src/pmi_v1.c.

Another host sees only values put before a barrier: hydra's proxies hold puts back until then (tested with 4.0.2 and
5.0.2). A process enters the one barrier with its first call (a set's put goes first), and does not wait there; nothing
is found before all have entered. So each process's first value is what others can read.
"""

import contextlib
import os
import select
import socket
import threading
from collections.abc import Mapping
from datetime import timedelta

from railgauge.topo.errors import RunError, UnavailableError, UsageError
from railgauge.transports.store.launcher_store import LauncherStore
from railgauge.transports.store.store import DEFAULT_TIMEOUT

MAX_LINE = 16 * 1024


class PMIStore(LauncherStore):
    """The keys of this job in its process manager. A process can open only one in its lifetime."""

    NAME = "PMI"
    MAX_KEY = 63
    MAX_VALUE = 511
    """hydra's get_maxes answers keylen_max=64, vallen_max=1024, with the final 0."""

    def __init__(self, timeout: timedelta = DEFAULT_TIMEOUT, environ: Mapping[str, str] | None = None) -> None:
        super().__init__(timeout)
        self._one_at_a_time = threading.Lock()
        self._socket: socket.socket | None = _connect(os.environ if environ is None else environ, timeout)
        self._rest = b""
        self._entered = self._passed = False
        try:
            self._begin()
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        """Finalize PMI: the process manager counts a process that ends without it as failed."""
        with self._one_at_a_time:
            if self._socket is None:
                return
            with self._socket as closing, contextlib.suppress(OSError, RunError):
                if not self._entered or self._all_entered(closing):
                    self._exchange(closing, "finalize", "finalize_ack")
            self._socket = None

    def _begin(self) -> None:
        on = self._open_socket()
        self._exchange(on, "init", "response_to_init", pmi_version="1", pmi_subversion="1")
        self._space = self._exchange(on, "get_my_kvsname", "my_kvsname").get("kvsname", "")

    def _put(self, key: str, text: str) -> None:
        with self._one_at_a_time:
            on = self._open_socket()
            if self._entered and not self._all_entered(on):
                raise UsageError(
                    f"PMI cannot take {key}: a process can put only one value before the others have arrived"
                )
            answer = self._exchange(on, "put", "put_result", kvsname=self._space, key=key, value=text)
            if answer.get("rc", "0") != "0":
                raise RunError(f"PMI refused {key}: {answer.get('msg', 'rc=' + answer['rc'])}")
            self._enter(on)

    def _find(self, key: str) -> str | None:
        with self._one_at_a_time:
            on = self._open_socket()
            self._enter(on)
            if not self._all_entered(on):
                return None
            answer = self._exchange(on, "get", "get_result", kvsname=self._space, key=key)
            return answer.get("value") if answer.get("rc", "0") == "0" else None

    def _enter(self, on: socket.socket) -> None:
        """Enter the barrier, unless this process has."""
        if not self._entered:
            self._entered = True
            self._send(on, "cmd=barrier_in")

    def _all_entered(self, on: socket.socket) -> bool:
        """Whether all processes are known to have entered the barrier."""
        if not self._passed and (b"\n" in self._rest or select.select([on], [], [], 0)[0]):
            self._receive(on, "barrier_out")
            self._passed = True
        return self._passed

    def _open_socket(self) -> socket.socket:
        if self._socket is None:
            raise UsageError("this PMI store is closed")
        return self._socket

    def _exchange(self, on: socket.socket, command: str, expected: str, **arguments: str) -> dict[str, str]:
        self._send(on, " ".join([f"cmd={command}", *(f"{name}={value}" for name, value in arguments.items())]))
        return self._receive(on, expected)

    def _send(self, on: socket.socket, line: str) -> None:
        try:
            on.sendall(line.encode() + b"\n")
        except OSError as error:
            raise RunError(f"the process manager (PMI) does not accept requests: {error}") from None

    def _receive(self, on: socket.socket, expected: str) -> dict[str, str]:
        """The next answer, which must be of that kind."""
        try:
            answer = self._line(on)
        except OSError as error:
            raise RunError(f"the process manager (PMI) does not answer: {error}") from None
        if answer.get("cmd") != expected:
            raise RunError(f"the process manager answered {answer} instead of {expected}: it does not speak PMI-1")
        return answer

    def _line(self, on: socket.socket) -> dict[str, str]:
        """The next line, as its pairs of name and value."""
        while b"\n" not in self._rest:
            chunk = on.recv(4096)
            if not chunk or len(self._rest) > MAX_LINE:
                raise ConnectionError("it closed the connection" if not chunk else "its line is too long")
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        pairs = (word.partition("=") for word in line.decode(errors="replace").split())
        return {name: value for name, _, value in pairs}


def _connect(env: Mapping[str, str], timeout: timedelta) -> socket.socket:
    """The connection to the process manager; answers must arrive within the timeout."""
    if "PMI_FD" not in env:
        raise UnavailableError(
            "the launcher sets PMI_RANK but offers no PMI-1 (PMI_FD is not set): "
            "pass MASTER_ADDR=<host of rank 0> and MASTER_PORT=29500 to all of them"
        )
    try:
        connected = socket.socket(fileno=int(env["PMI_FD"]))
        os.set_inheritable(connected.fileno(), False)
    except (OSError, ValueError) as error:
        raise UnavailableError(f"no connection to the process manager at PMI_FD={env['PMI_FD']}: {error}") from None
    connected.settimeout(timeout.total_seconds())
    return connected
