# SPDX-License-Identifier: Apache-2.0
import os
import re
import socket
import subprocess
import sys

import pytest

from railgauge.transports.nccl_log import SUBSYSTEMS, NcclLog, expand, subsystems


def lines(capsys, **env):
    log = NcclLog(3, env)
    log.info("INIT", "ready")
    log.info("GRAPH", "a ring")
    log.info("INIT", "a channel", also="SHM")
    return capsys.readouterr().err.splitlines()


def test_silent_unless_asked(capsys):
    assert lines(capsys) == []


def test_the_form_that_parsers_know(capsys, monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "gpu-01.rack-7.example")
    got = lines(capsys, NCCL_DEBUG="INFO")
    assert [line.split("] ", 1)[1] for line in got] == ["NCCL INFO ready", "NCCL INFO a channel"]
    assert all(re.fullmatch(rf"gpu-01:{os.getpid()}:\d+ \[3\] NCCL INFO .*", line) for line in got)


def test_warn_is_less_than_info(capsys):
    assert lines(capsys, NCCL_DEBUG="warn") == []


def test_a_file_that_cannot_be_written_is_told_and_stderr_used(capsys):
    got = lines(capsys, NCCL_DEBUG="info", NCCL_DEBUG_FILE="/proc/nowhere/log")
    assert "cannot write NCCL_DEBUG_FILE /proc/nowhere/log" in got[0]
    assert len(got) == 3


def test_a_pipe_that_nobody_reads_is_no_log_and_nothing_waits_for_it(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    got = lines(capsys, NCCL_DEBUG="info", NCCL_DEBUG_FILE=str(tmp_path / "pipe"))
    assert "cannot write NCCL_DEBUG_FILE" in got[0]
    assert len(got) == 3


def test_percent_signs():
    assert expand("/a/%h.%p.%%h", "me") == f"/a/me.{os.getpid()}.%h"


def test_subsystems_choose(capsys):
    got = lines(capsys, NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="GRAPH,SHM")
    assert [line.split("NCCL ")[1] for line in got] == ["INFO a ring", "INFO a channel"]


def test_a_file_per_process(tmp_path, capsys):
    NcclLog(0, {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": str(tmp_path / "log.%h.%p")}).info("INIT", "ready")
    assert "NCCL INFO ready" in (tmp_path / f"log.{socket.gethostname().split('.')[0]}.{os.getpid()}").read_text()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "has", "lacks"),
    [("", "INIT", "GRAPH"), ("ALL", "RAS", "NOTHING"), ("^INIT", "GRAPH", "INIT"), ("graph,init", "GRAPH", "NET")],
)
def test_subsystem_lists(text, has, lacks):
    assert has in subsystems(text)
    assert lacks not in subsystems(text)
    assert subsystems(text) <= set(SUBSYSTEMS)


def test_the_file_is_closed_when_the_process_ends(tmp_path):
    program = """
import sys
from railgauge.transports.nccl_log import NcclLog
NcclLog(0, {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": sys.argv[1]}).info("INIT", "ready")
"""
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "always::ResourceWarning", "-c", program, str(tmp_path / "log")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr == ""
    assert (tmp_path / "log").read_text().endswith("NCCL INFO ready\n")
