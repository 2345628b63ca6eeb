# SPDX-License-Identifier: Apache-2.0
"""The live reader against files that vanish, fail, block, never end or hold no text."""

import errno
import os
import socket

import pytest

from railgauge.topo.facts import reader as module
from railgauge.topo.facts.reader import GONE, LiveReader

CPUINFO = "/proc/cpuinfo"


@pytest.fixture
def live(tmp_path):
    (tmp_path / "a").write_text("text\n")
    (tmp_path / "folder").mkdir()
    return LiveReader(str(tmp_path))


def failing(monkeypatch, name, number, *, only="/a"):
    """Let a call of os fail for one path."""
    real = getattr(os, name)

    def call(path, *rest, **named):
        if str(path).endswith(only):
            raise OSError(number, os.strerror(number))
        return real(path, *rest, **named)

    monkeypatch.setattr(module.os, name, call)


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.EIO, "Input/output error"),
        (errno.EACCES, "Permission denied"),
        (errno.ETIMEDOUT, "Connection timed out"),
        (errno.ENOENT, GONE),
        (errno.ENODEV, GONE),
    ],
)
def test_a_failed_read_is_none_with_its_reason_once(live, monkeypatch, number, why):
    failing(monkeypatch, "open", number)
    assert [live.text("/a"), live.text("/a")] == [None, None]
    assert live.problems == {"/a": why}


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP, errno.ENODATA])
def test_an_attribute_without_a_value_is_no_problem(live, monkeypatch, number):
    failing(monkeypatch, "open", number)
    assert live.text("/a") is None
    assert live.problems == {}


def test_a_late_failure_says_how_late(live, monkeypatch):
    failing(monkeypatch, "open", errno.ETIMEDOUT)
    now = iter([100.0, 160.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(now))
    live.text("/a")
    assert live.problems == {"/a": "Connection timed out (after 60 s)"}


def test_a_folder_that_may_not_be_searched_is_told(live, monkeypatch):
    failing(monkeypatch, "lstat", errno.EACCES, only="/debug/x")
    assert live.text("/debug/x") is None
    assert live.problems == {"/debug/x": "Permission denied"}


def test_a_folder_that_may_not_be_listed_is_told(live, monkeypatch):
    failing(monkeypatch, "listdir", errno.EACCES, only="/folder")
    assert live.entries("/folder") == ()
    assert live.problems == {"/folder": "Permission denied"}


def test_what_is_absent_is_no_problem(live):
    assert (live.text("/none"), live.entries("/none"), live.realpath("/none")) == (None, (), None)
    assert (live.text("/a/below"), live.entries("/a"), live.text("/folder")) == (None, (), None)
    assert (live.text("/nul\0"), live.realpath("/nul\0")) == (None, None)
    assert live.problems == {}


def test_pipes_sockets_and_devices_are_not_waited_for(live, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        assert [live.text("/pipe"), live.text("/socket")] == [None, None]
    assert live.problems["/pipe"] == "neither a file nor a folder"
    assert "/socket" in live.problems
    assert LiveReader("/").text("/dev/zero") is None


def test_links_lead_nowhere_outside_the_root_and_loops_end(live, tmp_path):
    (tmp_path / "out").symlink_to("../../../../../../etc/hostname")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "absolute").symlink_to("/a")
    assert (live.text("/out"), live.text("/loop"), live.text("/absolute")) == (None, None, "text")


def test_binary_content_is_text_with_marks(live, tmp_path):
    (tmp_path / "a").write_bytes(b"\xff\xfe\x00\x01binary\n")
    assert live.text("/a") == "\ufffd\ufffd\ufffd\ufffdbinary"


def test_a_long_file_is_read_whole_and_an_endless_one_is_cut(live, tmp_path, monkeypatch):
    text = "".join(f"processor\t: {i}\n\n" for i in range(8192))
    (tmp_path / "a").write_text(text)
    assert live.text("/a") == text.rstrip()
    assert live.problems == {}
    monkeypatch.setattr(module, "MAX_TEXT", 1 << 20)
    (tmp_path / "a").write_text("x" * (3 << 20))
    assert live.text("/a") == text.rstrip()
    again = LiveReader(str(tmp_path))
    assert len(again.text("/a")) < 2 << 20
    assert "cut off" in again.problems["/a"]


def test_a_file_of_proc_beyond_one_chunk_is_whole():
    path = "/proc/kallsyms"
    with open(path, "rb") as file:
        lines = file.read(400_000).splitlines()[:-1]
    if len(lines) < 3000:
        pytest.skip("this kernel shows no symbols")
    assert (LiveReader("/").text(path) or "").splitlines()[:3000] == [line.decode() for line in lines[:3000]]


def test_no_answer_steers_a_terminal(tmp_path):
    (tmp_path / "state").write_bytes(b"4: ACTIVE\x00\x1b[31m\x9b\n\ttext\r\n")
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "eth\x1b[2J").touch()
    facts = {"nvml": lambda: {"gpus": [{"name": "\x1b]0;H200\x07"}]}}
    reader = LiveReader(str(tmp_path), facts)
    assert reader.text("/state") == "4: ACTIVE\ufffd\ufffd[31m\ufffd\n\ttext"
    assert reader.entries("/class") == ("eth\ufffd[2J",)
    assert reader.facts("nvml") == {"gpus": [{"name": "\ufffd]0;H200\ufffd"}]}


def test_a_file_of_a_device_that_was_removed_meanwhile_is_a_problem(tmp_path):
    device = tmp_path / "device"
    device.mkdir()
    reader = LiveReader(str(tmp_path))
    assert reader.realpath("/device") == "/device"
    assert (reader.text("/device/absent"), reader.problems) == (None, {})
    device.rmdir()
    assert (reader.text("/device/vendor"), reader.problems) == (None, {"/device/vendor": GONE})
