# SPDX-License-Identifier: Apache-2.0
"""The client of RAS speaks as ncclras does, and never waits for ever."""

import contextlib
import json
import socket
import threading

import pytest
from tests.topo.jobs.hang import ras
from tests.topo.jobs.hang.fake_ras import FakeRas

from railgauge.topo.errors import InputError, UnavailableError
from railgauge.topo.jobs.hang import ras_client
from railgauge.topo.jobs.hang.ras_client import ask

JSON_REPORT = json.dumps(ras.json_report([]))


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
