# SPDX-License-Identifier: Apache-2.0
"""What --from may name: a file, a pipe, a stream; and a clear error, without waiting for ever, for all else."""

import os
import select
import threading

import pytest
from tests.cli.command import in_process

from railgauge.topo.errors import InputError
from railgauge.topo.files import input_file
from railgauge.topo.files.input_file import blocks, read_bytes
from railgauge.topo.machine import load_machine


def test_a_file_is_read_up_to_one_byte_over_the_limit(tmp_path):
    (tmp_path / "a").write_bytes(b"0123456789")
    assert read_bytes(str(tmp_path / "a"), 20) == b"0123456789"
    assert read_bytes(str(tmp_path / "a"), 4) == b"01234"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/none/there", "No such file"),
        ("/proc", "Is a directory"),
        ("/a\0b", "null byte"),
        ("/" + "x" * 300, "too long"),
    ],
)
def test_what_is_no_file_is_an_input_error(path, why):
    with pytest.raises(InputError, match=why):
        read_bytes(path, 10)


def test_a_device_without_end_is_no_machine():
    with pytest.raises(InputError):
        load_machine("/dev/zero")


def test_a_pipe_without_a_writer_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(input_file, "WRITER_S", 0.05)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="no writer opened"):
        read_bytes(str(tmp_path / "pipe"), 10)


@pytest.mark.parametrize("patience", [0.01, 10.0])
def test_a_pipe_whose_writer_is_late_is_read_whole(tmp_path, monkeypatch, patience):
    monkeypatch.setattr(input_file, "WRITER_S", patience)
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    keeper = os.open(path, os.O_RDWR)  # a writer from the start, who says nothing yet
    writer = threading.Timer(0.2, lambda: (os.write(keeper, b"all of it"), os.close(keeper)))
    writer.start()
    assert read_bytes(path, 100) == b"all of it"
    writer.join()


def test_the_byte_by_which_a_late_writer_is_known_is_of_the_content(tmp_path, monkeypatch):
    """It writes between the end of the wait and the look at who is there."""
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    keeper = os.open(path, os.O_RDWR)
    real = select.select

    def nothing_yet(*_):
        monkeypatch.setattr(select, "select", real)
        os.write(keeper, b"all of it")
        os.close(keeper)
        return [], [], []

    monkeypatch.setattr(select, "select", nothing_yet)
    assert read_bytes(path, 100) == b"all of it"


def test_an_empty_file_is_an_input_error(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(InputError):
        load_machine(str(tmp_path / "a"))


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_device_without_end_is_no_log_either(path):
    with pytest.raises(InputError, match="a device with more than 1 MiB"):
        for _ in blocks(path):
            pass
    assert read_bytes("/dev/null", 10) == b""
    assert b"".join(blocks("/dev/null")) == b""


def test_a_log_has_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(input_file, "MOST", 1 << 20)
    monkeypatch.setattr(input_file, "BLOCK", 1 << 16)
    (tmp_path / "log").write_bytes(b"x" * (1 << 20))
    assert sum(map(len, blocks(str(tmp_path / "log")))) == 1 << 20
    (tmp_path / "log").write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(InputError, match="pass a part of it"):
        list(blocks(str(tmp_path / "log")))


@pytest.mark.parametrize("read", [lambda path: read_bytes(path, 10), lambda path: list(blocks(path))])
def test_a_pipe_whose_writer_says_nothing_is_given_up(tmp_path, monkeypatch, read):
    monkeypatch.setattr(input_file, "SILENT_S", 0.05)
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    keeper = os.open(path, os.O_RDWR)
    os.write(keeper, b"and")
    with pytest.raises(InputError, match="no data from the pipe for"):
        read(path)
    os.close(keeper)


def test_the_pipe_of_a_shells_command_may_be_silent_for_long(monkeypatch):
    monkeypatch.setattr(input_file, "SILENT_S", 0.01)
    end, other = os.pipe()
    writer = threading.Timer(0.2, lambda: (os.write(other, b"late"), os.close(other)))
    writer.start()
    assert read_bytes(f"/dev/fd/{end}", 10) == b"late"
    writer.join()
    os.close(end)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("run", "all_reduce", "--dry-run", "--hostfile"), "no writer opened"),
        (("log", "explain"), "no writer opened"),
        (("topo", "show", "--from", "@laptop", "--view", "matrix", "--against"), "no writer opened"),
    ],
    ids=["hostfile", "log", "matrix"],
)
def test_commands_do_not_wait_for_a_pipe_without_a_writer(tmp_path, monkeypatch, command, said):
    monkeypatch.setattr(input_file, "WRITER_S", 0.05)
    os.mkfifo(tmp_path / "pipe")
    done = in_process(*command, str(tmp_path / "pipe"))
    assert done.returncode == 5
    assert said in done.stderr


def test_a_matrix_has_a_size(tmp_path):
    (tmp_path / "big").write_bytes(b"\tGPU0\n" * (1 << 18))
    done = in_process("topo", "show", "--from", "@laptop", "--view", "matrix", "--against", str(tmp_path / "big"))
    assert done.returncode == 5
    assert "larger than 1 MiB" in done.stderr
