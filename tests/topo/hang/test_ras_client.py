# SPDX-License-Identifier: Apache-2.0
"""The client of RAS speaks as ncclras does, and never waits for ever."""

import contextlib
import json
import socket
import threading

import pytest
from tests.topo.hang import ras

from railgauge.topo.errors import InputError, UnavailableError
from railgauge.topo.hang import ras_client
from railgauge.topo.hang.ras_client import ask

JSON_REPORT = json.dumps(ras.json_report([]))


class FakeRas:
    """Listens on loopback and answers as NCCL does; `has_json`: since 2.28.7. heard: the lines of all clients."""

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


def test_the_exchange():
    with FakeRas(JSON_REPORT) as fake:
        assert json.loads(ask("127.0.0.1", fake.port, wait_s=2)) == ras.json_report([])
        assert fake.heard == ["CLIENT PROTOCOL 2", "TIMEOUT 2", "SET FORMAT json", "VERBOSE STATUS"]


def test_an_older_nccl_reports_in_text():
    with FakeRas(ras.behind(), has_json=False) as fake:
        assert ask("127.0.0.1", fake.port).decode() == ras.behind()


@pytest.mark.parametrize("mute_from", ["CLIENT PROTOCOL 2", "TIMEOUT 1", "VERBOSE STATUS"])
def test_one_that_falls_silent_is_given_up(monkeypatch, mute_from):
    monkeypatch.setattr(ras_client, "ANSWER_S", 0.2)
    monkeypatch.setattr(ras_client, "GRACE_S", -0.8)
    with (
        FakeRas(JSON_REPORT, mute_from=mute_from) as fake,
        pytest.raises(UnavailableError, match="RAS does not answer at 127"),
    ):
        ask("127.0.0.1", fake.port, wait_s=1)


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(UnavailableError, match="NCCL_RAS_ADDR"):
        ask("127.0.0.1", port)


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH\r\n", b"", b"x" * 4096])
def test_another_program_listens(answer):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_say, args=(listener, answer), daemon=True)
        thread.start()
        with pytest.raises(UnavailableError, match=r"not NCCL's RAS|does not answer"):
            ask("127.0.0.1", listener.getsockname()[1])
        thread.join(10)


def _say(listener, answer):
    connection, _ = listener.accept()
    with connection, contextlib.suppress(OSError):
        connection.settimeout(5)
        connection.recv(100)
        connection.sendall(answer)


def test_a_report_of_any_size_is_bounded(monkeypatch):
    monkeypatch.setattr(ras_client, "MOST_BYTES", 1000)
    with FakeRas("x" * 5000) as fake, pytest.raises(InputError, match="larger than"):
        ask("127.0.0.1", fake.port)
