# SPDX-License-Identifier: Apache-2.0
"""topo capture as a command: the format by the name, pseudonyms on request, and every command on what was captured."""

import subprocess
from functools import partial
from pathlib import Path

import pytest
from tests.cli.command import command, in_process
from tests.patience import HANGS_AFTER_S

from railgauge.fixtures.__main__ import load
from railgauge.topo.facts import named_source
from railgauge.topo.facts.capture import dumps, loads
from railgauge.topo.facts.described.files import unpack as unpack_tree
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.files.compression import unpack
from railgauge.topo.machine import record

VIEWS = (("dump",), ("show",), ("show", "--view", "matrix"), ("show", "--view", "rdma"), ("paths",))


def lines(*args):
    """What a command says on stdout and stderr."""
    done = in_process("topo", *args)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    path = tmp_path_factory.mktemp("capture") / "here.tar.zst"
    assert in_process("topo", "capture", "-o", str(path)).returncode == 0
    return str(path)


@pytest.mark.parametrize("view", VIEWS)
def test_a_capture_answers_as_the_machine_did(here, view):
    assert lines(*view, "--from", here) == lines(*view)


def test_a_recording_of_a_large_machine_answers_as_the_machine(tmp_path, monkeypatch):
    """A DGX H100 laid out on disk, recorded from there: nothing that a view asks for is missing."""
    built = load("dgx-h100")
    unpack_tree(built.texts, built.links, tmp_path / "root")
    asks = {name: partial(dict, facts) for name, facts in built.facts.items() if facts is not None}
    monkeypatch.setattr(named_source, "live_reader", lambda root: LiveReader(str(tmp_path / "root"), asks))
    (tmp_path / "dgx.tar.zst").write_bytes(dumps(record()[0], ".tar.zst"))
    for view in VIEWS:
        assert lines(*view, "--from", str(tmp_path / "dgx.tar.zst")) == lines(*view, "--from", "@dgx-h100")


@pytest.mark.parametrize(("name", "magic"), [("a.tar.zst", b"\x28\xb5\x2f\xfd"), ("a.tar.gz", b"\x1f\x8b")])
def test_the_format_is_that_of_the_name(tmp_path, name, magic):
    done = in_process("topo", "capture", "-o", str(tmp_path / name))
    data = (tmp_path / name).read_bytes()
    assert (done.returncode, data[: len(magic)]) == (0, magic)
    assert len(data) < 1 << 20


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a", "tar.gzip"])
def test_another_name_is_a_wrong_usage(tmp_path, name):
    done = in_process("topo", "capture", "-o", str(tmp_path / name))
    assert done.returncode == 2
    assert ".tar.zst or .tar.gz" in done.stderr
    assert not (tmp_path / name).exists()


def test_a_capture_goes_through_a_stream():
    sent = subprocess.run(
        command("topo", "capture", "-o", "/dev/stdout"), capture_output=True, timeout=HANGS_AFTER_S, check=True
    )
    assert loads(sent.stdout, "stdout").manifest["schema"] == "railgauge/capture/1"


def test_a_key_gives_the_same_pseudonyms_twice_and_none_others(tmp_path, here):
    def host(name, *flags, **env):
        path = tmp_path / name
        assert in_process("topo", "capture", *flags, "-o", str(path), **env).returncode == 0
        return loads(path.read_bytes(), name).manifest["host"]

    real = loads(Path(here).read_bytes(), "here").manifest["host"]
    keyed = host("a.tar.gz", "--redact-key", "one"), host("b.tar.gz", RAILGAUGE_REDACT_KEY="one")
    free = host("c.tar.gz", "--redact"), host("d.tar.gz", "--redact")
    assert keyed[0] == keyed[1] != free[0] != free[1]
    assert real not in (*keyed, *free)


def test_a_redacted_capture_answers_the_same_without_the_addresses(tmp_path, here):
    path = tmp_path / "a.tar.zst"
    assert in_process("topo", "capture", "--redact", "-o", str(path)).returncode == 0
    boot_id = loads(Path(here).read_bytes(), "here").texts.get("/proc/sys/kernel/random/boot_id", "none here")
    assert boot_id.encode() not in unpack(path.read_bytes(), "a")
    for view in (("show",), ("show", "--view", "matrix"), ("paths",)):
        assert lines(*view, "--from", str(path)) == lines(*view)


def test_a_damaged_capture_says_where_it_is_damaged(tmp_path, here):
    data = Path(here).read_bytes()
    (tmp_path / "a.tar.zst").write_bytes(data[: len(data) // 2])
    done = in_process("topo", "dump", "--from", str(tmp_path / "a.tar.zst"))
    assert (done.returncode, done.stdout) == (5, "")
    assert "a.tar.zst: " in done.stderr
    assert "Traceback" not in done.stderr


def test_capture_replays(tmp_path):
    path = str(tmp_path / "c.tar.gz")
    done = in_process("topo", "capture", "-o", path)
    assert (done.returncode, done.stdout) == (0, "")
    assert in_process("topo", "dump", "--from", path).stdout == in_process("topo", "dump").stdout


def test_a_capture_tells_what_is_missing(tmp_path):
    done = in_process("topo", "capture", "-o", str(tmp_path / "c.tar.gz"))
    told = in_process("topo", "dump", "--from", str(tmp_path / "c.tar.gz")).stderr.splitlines()
    assert told
    assert set(told) <= set(done.stderr.splitlines())
