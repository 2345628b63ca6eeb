# SPDX-License-Identifier: Apache-2.0
"""How answers leave: links, devices, pipes, full disks, interrupted writes, and numbers that JSON has not."""

import os
import shlex
import subprocess

import pytest
from tests.cli.command import command
from tests.patience import HANGS_AFTER_S

from railgauge.cli import output
from railgauge.cli.output import write_text
from railgauge.topo import output_file
from railgauge.topo.errors import UnavailableError, UsageError


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
    with pytest.raises(UsageError, match="/dev/stdout"):
        write_text("-", "text")
    assert not os.path.exists("-")


@pytest.mark.parametrize(
    ("to", "says"), [(">/dev/full", "cannot write to stdout: No space"), (">&-", "stdout is closed")]
)
def test_an_answer_that_cannot_leave_is_told(to, says):
    line = f"{shlex.join(command('topo', 'dump', '--from', '@h200x4'))} {to}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 3
    assert says in done.stderr


@pytest.mark.parametrize("asked", ["--version", "--help", "-h", ""])
def test_a_version_that_cannot_leave_is_told(asked):
    line = f"{shlex.join(command())} {asked} >/dev/full"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=50, check=False)
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
        assert subprocess.run(dump, stdout=out, stderr=subprocess.DEVNULL, timeout=50, check=False).returncode == 0
    assert path.read_text().startswith("before\n<system ")


def test_a_number_that_json_has_no_spelling_of_is_never_written():
    with pytest.raises(ValueError, match="JSON"):
        output.json_text({"gb_per_s": float("inf")})
