# SPDX-License-Identifier: Apache-2.0
"""What --from may name: a file, a pipe, a stream; and a clear error, without waiting for ever, for all else."""

import os
import threading

import pytest

from railgauge.topo import input_file
from railgauge.topo.errors import InputError
from railgauge.topo.input_file import read_bytes
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
    with pytest.raises(InputError, match="nobody wrote"):
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


def test_an_empty_file_is_an_input_error(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(InputError):
        load_machine(str(tmp_path / "a"))
