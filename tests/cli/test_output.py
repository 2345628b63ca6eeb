# SPDX-License-Identifier: Apache-2.0
"""How answers leave: links, devices, pipes, full disks, interrupted writes, and numbers that JSON has not."""

import io
import os
import shlex
import signal
import subprocess
import sys

import pytest
from tests.cli.command import command
from tests.patience import HANGS_AFTER_S

from railgauge.cli import output
from railgauge.cli.findings_output import print_findings
from railgauge.cli.output import write_text
from railgauge.cli.run.listing import list_all
from railgauge.cli.streams import START_OF_LINE, show_progress
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.files import output_file
from railgauge.topo.findings.finding import Finding, Level


def test_ctrl_c_is_ignored_while_a_document_is_printed_and_no_longer(monkeypatch):
    meanwhile = []
    monkeypatch.setattr("builtins.print", lambda *_text, **_more: meanwhile.append(signal.getsignal(signal.SIGINT)))
    before = signal.getsignal(signal.SIGINT)
    output.print_json({})
    assert meanwhile == [signal.SIG_IGN]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_text(str(tmp_path / "link"), "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]


def test_a_pipe_stays_a_pipe(tmp_path):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    reader = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
    write_text(path, "text")
    assert reader.communicate(timeout=HANGS_AFTER_S)[0] == b"text"
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_device_is_written_to(capsys):
    write_text("/dev/null", "text")
    assert not os.path.isfile("/dev/null")
    with pytest.raises(UnavailableError, match="/dev/full"):
        write_text("/dev/full", "text")


def test_a_dash_is_no_file():
    with pytest.raises(UsageError, match="write to stdout"):
        write_text("-", "text")
    assert not os.path.exists("-")


@pytest.mark.parametrize(
    ("to", "says"), [(">/dev/full", "cannot write to stdout: No space"), (">&-", "stdout is closed")]
)
def test_an_answer_that_cannot_leave_is_told(to, says):
    line = f"{shlex.join(command('topo', 'dump', '--from', '@h200x4'))} {to}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False)
    assert done.returncode == 3
    assert says in done.stderr


@pytest.mark.parametrize("asked", ["--version", "--help", "-h", ""])
def test_a_version_that_cannot_leave_is_told(asked):
    line = f"{shlex.join(command())} {asked} >/dev/full"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "cannot write to stdout: No space" in done.stderr


def test_a_failure_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output_file.os, "replace", full)
    with pytest.raises(UnavailableError, match="No space left"):
        write_text(str(path), "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_stdout_by_its_name_is_added_to(tmp_path):
    path = tmp_path / "all"
    path.write_text("before\n")
    with path.open("a") as out:
        dump = command("topo", "dump", "--from", "@h200x4", "-o", "/dev/stdout")
        assert (
            subprocess.run(dump, stdout=out, stderr=subprocess.DEVNULL, timeout=HANGS_AFTER_S, check=False).returncode
            == 0
        )
    assert path.read_text().startswith("before\n<system ")


def test_a_number_that_json_has_no_spelling_of_is_never_written():
    with pytest.raises(ValueError, match="JSON"):
        output.json_text({"gb_per_s": float("inf")})


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """What a print shows on a stdout of that kind."""

    def show(out, call):
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setattr(sys, "stdout", out)
        call()
        return out.getvalue()

    return show


def test_the_level_of_a_finding_has_its_colour_on_a_terminal_alone(shown):
    found = [Finding(id="x", level=Level.FAIL, subject="GPU0", message="GPU0 is lost")]
    assert shown(io.StringIO(), lambda: print_findings(found)) == "FAIL x: GPU0 is lost\n1 FAIL\n"
    assert shown(Terminal(), lambda: print_findings(found)) == "\x1b[1;31mFAIL\x1b[0m x: GPU0 is lost\n1 FAIL\n"


def test_progress_is_shown_on_a_terminal_alone(monkeypatch):
    for err, expected in ((Terminal(), f"{START_OF_LINE}2/5"), (io.StringIO(), "")):
        monkeypatch.setattr(sys, "stderr", err)
        show_progress("2/5")
        assert err.getvalue() == expected


def test_each_part_of_the_list_has_a_bold_heading_on_a_terminal_alone(shown):
    plain = shown(io.StringIO(), lambda: list_all(as_json=False))
    assert "\x1b" not in plain
    bold = shown(Terminal(), lambda: list_all(as_json=False))
    for heading in ("What runs here", "How", "Types and the operators that reduce them", "Devices and transports"):
        assert f"\n{heading}" in f"\n{plain}"
        assert any(heading in part.partition("\x1b[0m")[0] for part in bold.split("\x1b[1m"))
