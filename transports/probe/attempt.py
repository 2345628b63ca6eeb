# SPDX-License-Identifier: Apache-2.0
"""One connection to another node, tried from an interface of this one, and its result."""

import errno
import socket
import time

from railgauge.topo.errors import AuthenticationError, PeerLostError, WaitTimeoutError
from railgauge.topo.findings.cluster.endpoints import Endpoint
from railgauge.topo.findings.cluster.reach import FailedConnection, Hint, Stage, Way
from railgauge.transports import tcp
from railgauge.transports.addresses import from_here
from railgauge.transports.handshake import authenticate
from railgauge.transports.probe.greeting import CONNECT_S, DATA, DATA_S, GREETING_S, LENGTH, PROBE, TAKEN, receive
from railgauge.transports.probe.hints import hint


class Attempt:
    """From `source`'s endpoint to the port where `target` listens at its own. It ends within ATTEMPT_S."""

    def __init__(self, names: tuple[str, str], ends: tuple[Endpoint, Endpoint], way: Way, port: int) -> None:
        self._source, self._target = names
        self._here, there = ends
        self._way, self._port = way, port
        self._address = from_here(there.address, self._here.interface)

    def run(self, secret: bytes) -> FailedConnection | None:
        """Connect, greet, and send data; None when all of it succeeds."""
        self._stage, self._began = Stage.CONNECT, time.monotonic()
        try:
            address = tcp.socket_address(self._address, self._port)
            try:
                sock = tcp.connect(address, self._began + CONNECT_S, self._here.address)
            except OSError as error:
                return self._failure(error.errno or errno.ETIMEDOUT, hint(self._here.address, address))
            with sock:
                return self._talk(sock, secret)
        except AuthenticationError:
            return self._failure(errno.EPROTO, Hint.STRANGER)
        except (TimeoutError, WaitTimeoutError):
            return self._failure(errno.ETIMEDOUT)
        except (OSError, PeerLostError) as error:
            return self._failure(getattr(error, "errno", None) or errno.ECONNRESET)

    def _talk(self, sock: socket.socket, secret: bytes) -> FailedConnection | None:
        self._stage, deadline = Stage.GREETING, time.monotonic() + GREETING_S
        authenticate(sock, secret, PROBE, deadline=deadline)
        length = LENGTH.unpack(receive(sock, LENGTH.size, deadline))[0]
        name = receive(sock, length, deadline).decode(errors="replace")
        if name != self._target:
            return self._failure(errno.EPROTO, Hint.STRANGER, name)
        self._stage, deadline = Stage.DATA, time.monotonic() + DATA_S
        sock.settimeout(DATA_S)
        sock.sendall(DATA)
        receive(sock, len(TAKEN), deadline)
        return None

    def _failure(self, number: int, why: Hint = Hint.NONE, answered_by: str = "") -> FailedConnection:
        return FailedConnection(
            source=self._source,
            target=self._target,
            way=self._way,
            stage=self._stage,
            errno=number,
            seconds=round(time.monotonic() - self._began, 3),
            port=self._port,
            hint=why,
            answered_by=answered_by,
        )
