# SPDX-License-Identifier: Apache-2.0
"""A RAS that is none: it listens on loopback and answers as NCCL does."""

import contextlib
import socket
import threading


class FakeRas:
    """has_json: as since 2.28.7. mute_from: the line that is not answered. heard: the lines of all clients."""

    def __init__(self, *reports, has_json=True, mute_from=""):
        self.reports = list(reports)
        self.has_json = has_json
        self.mute_from = mute_from
        self.heard = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(5)
            with connection, contextlib.suppress(OSError):
                self._talk(connection)

    def _talk(self, connection):
        with connection.makefile("rwb") as stream:
            for raw in stream:
                line = raw.decode().strip()
                self.heard.append(line)
                if line == self.mute_from:
                    connection.recv(1)
                    return
                stream.write(self._answer(line).encode())
                stream.flush()
                if line.endswith("STATUS"):
                    return

    def _answer(self, line):
        if line.startswith("CLIENT PROTOCOL"):
            return "SERVER PROTOCOL 2\n"
        if line.startswith("SET FORMAT") and not self.has_json:
            return f"ERROR: Unknown command {line.lower()}\n"
        return self.reports.pop(0) if line.endswith("STATUS") else "OK\n"
