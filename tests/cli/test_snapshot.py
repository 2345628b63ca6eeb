# SPDX-License-Identifier: Apache-2.0
"""A command reads its machine once: no path, fact or capture twice; and what it read can be saved and replayed."""

import os
import re
import sys
from collections import Counter
from functools import partial

import pytest
from tests.cli.command import in_process, railgauge

from railgauge.fixtures.__main__ import load
from railgauge.topo.facts import named_source
from railgauge.topo.facts.described.files import unpack
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.port_errors import LATER

GRAPH = ("graph", "search", "--policy", "nccl")
COMMANDS = [
    ("check",),
    ("check", "--json"),
    ("gdr", "check", "--no-transfer"),
    ("env",),
    ("gate", "npd"),
    ("topo", "dump"),
    ("topo", "show"),
    ("topo", "show", "--json"),
    ("topo", "show", "--view", "matrix"),
    ("topo", "show", "--view", "rdma"),
    ("topo", "paths"),
    ("topo", "paths", "GPU0", "mlx5_0"),
    ("topo", "pick", "-n", "2"),
    GRAPH,
    ("graph", "show", "--policy", "nccl"),
    ("graph", "predict", "all_reduce", "-b", "1M", "-e", "1M", "--policy", "nccl"),
]
OTHERS = [
    ("check", "-r", "2"),
    ("check", "--topo-file", "FOLDER/topo.xml"),
    ("topo", "bind", "--rank", "0", "--dry-run", "--", "true"),
    ("topo", "capture", "-o", "FOLDER/made.tar.gz"),
    ("topo", "lint", "FOLDER/topo.xml", "--from", "live"),
    ("topo", "diff", "@h200x4", "live"),
    ("graph", "join", "live", "live"),
]
SETTINGS = {"NCCL_P2P_LEVEL": "SYS", "NCCL_IB_HCA": "mlx5_0,mlx5_1", "CUDA_VISIBLE_DEVICES": "0,2,3"}
ONCE = ("check", "-r", "2"), ("topo", "show"), GRAPH
"""With settings as well."""


class Reads:
    """What was read, how often: files and folders of the system and below a root, the links there, and facts."""

    def __init__(self):
        self.counts = Counter()
        self.roots = ("/sys/", "/proc/", "/etc/", "/dev/")
        self.counting = False
        sys.addaudithook(self._opened)

    def _opened(self, event, args):
        if self.counting and event in ("open", "os.listdir", "os.scandir") and isinstance(args[0], str):
            self.counting = False
            path = os.path.realpath(args[0])
            self.counting = True
            self.note(event, path)

    def note(self, what, path):
        if self.counting and path.startswith(self.roots):
            self.counts[what, path] += 1

    def of(self, *args, **env):
        """The reads of a command, more than one of each; and how many there are."""
        self.counts.clear()
        self.counting = True
        try:
            done = in_process(*args, **env)
        finally:
            self.counting = False
        assert done.returncode in (0, 1), done.stderr
        return {key: count for key, count in self.counts.items() if count > 1}, len(self.counts)


@pytest.fixture(scope="module")
def reads():
    return Reads()


@pytest.fixture
def dgx(reads, tmp_path, monkeypatch):
    """This machine is a DGX H100, laid out on disk."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)  # hides the GPUs of the machine that runs the tests
    built, root = load("dgx-h100"), tmp_path / "root"
    unpack(built.texts, built.links, root)
    (tmp_path / "topo.xml").write_text(in_process("topo", "dump", "--from", "@dgx-h100").stdout)
    reads.roots = (*reads.roots, str(root), str(tmp_path / "topo.xml"))

    def ask(name, facts):
        reads.note("fact", f"{root}/{name}")
        return dict(facts)

    later = {"ports": [{"device": "mlx5_0", "port": 1, "counts": {"symbol_error": 1}}]}
    facts = {name: answer for name, answer in built.facts.items() if answer is not None} | {LATER: later}
    asks = {name: partial(ask, name, answer) for name, answer in facts.items()}
    asks["settings"] = machine_settings
    monkeypatch.setattr(named_source, "live_reader", lambda _="/": LiveReader(str(root), asks))
    for name in ("lstat", "readlink"):
        monkeypatch.setattr(os, name, partial(noted, reads, name, getattr(os, name)))
    return tmp_path


def machine_settings():
    from railgauge.topo.facts.sources.nccl_settings import live_settings

    return live_settings(os.environ)


def noted(reads, name, call, path, *rest, **named):
    reads.note(name, str(path))
    return call(path, *rest, **named)


@pytest.mark.parametrize("command", [*COMMANDS, *OTHERS], ids=" ".join)
def test_a_command_reads_a_live_machine_once(reads, dgx, command):
    twice, count = reads.of(*(part.replace("FOLDER", str(dgx)) for part in command))
    assert not twice
    assert count > 100


@pytest.mark.parametrize("command", [("check",), ("gdr", "check", "--no-transfer"), ("env",), ("topo", "show")])
def test_a_command_reads_this_machine_once(reads, command):
    assert reads.of(*command)[0] == {}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_reads_a_capture_once(reads, dgx, command):
    path = dgx / "made.tar.gz"
    assert in_process("topo", "capture", "-o", str(path)).returncode == 0
    reads.roots = (str(path),)
    assert reads.of(*command, "--from", str(path)) == ({}, 1)


def answered(*args, **env):
    """Exit status, stdout and stderr, without the time and the line that a file was written."""
    done = in_process(*args, **env)
    assert done.returncode in (0, 1), done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith("railgauge: wrote ")]
    return done.returncode, re.sub(r'"time": "[^"]*"|; captured [^\n]*', "", done.stdout), said


@pytest.mark.parametrize(
    ("command", "env"), [*((one, {}) for one in COMMANDS), *((one, SETTINGS) for one in ONCE)], ids=str
)
def test_what_an_answer_was_computed_from_replays(dgx, command, env):
    path = str(dgx / "saved.tar.zst")
    saved = answered(*command, "--save-capture", path, **env)
    assert answered(*command, "--from", path) == saved
    assert answered(*command, **env) == saved


@pytest.mark.parametrize("command", [("topo", "lint", "topo.xml"), ("log", "explain", "log.txt")], ids=" ".join)
def test_the_machine_beside_a_file_replays(dgx, command):
    (dgx / "log.txt").write_text("a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n")
    args, path = (*command[:2], str(dgx / command[2])), str(dgx / "saved.tar.zst")
    saved = answered(*args, "--from", "@dgx-h100", "--save-capture", path)
    assert saved == answered(*args, "--from", path) == answered(*args, "--from", "@dgx-h100")
    alone = in_process(*args, "--save-capture", path)
    assert (alone.returncode, "requires --from" in alone.stderr) == (2, True)


def test_a_topology_file_that_a_setting_names_replays(dgx):
    (dgx / "root/topo.xml").write_text((dgx / "topo.xml").read_text().replace('speed="400000"', 'speed="200000"'))
    path, env = str(dgx / "saved.tar.gz"), {"NCCL_TOPO_FILE": "/topo.xml"}
    saved = answered("topo", "dump", "--save-capture", path, **env)
    assert 'speed="200000"' in saved[1]
    assert answered("topo", "dump", "--from", path) == saved == answered("topo", "dump", **env)


def test_a_file_that_a_setting_names_and_is_not_there_replays(dgx):
    path, env = str(dgx / "saved.tar.gz"), {"NCCL_TOPO_FILE": "/nowhere.xml"}
    saved = answered("check", "--only", "topo-file-stale", "--save-capture", path, **env)
    assert "WARN" in saved[1]
    assert answered("check", "--only", "topo-file-stale", "--from", path) == saved


@pytest.mark.parametrize("name", ["a.zip", "a", "-", "/dev/stdout"])
def test_another_name_is_a_wrong_usage(name):
    done = in_process("topo", "show", "--save-capture", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert ".tar.zst or .tar.gz" in done.stderr


def test_a_topology_file_is_no_machine_to_save(dgx):
    done = in_process("topo", "show", "--from", str(dgx / "topo.xml"), "--save-capture", str(dgx / "a.tar.gz"))
    assert done.returncode == 2
    assert "is a topology file" in done.stderr


def test_a_fixture_can_be_saved(tmp_path):
    path = str(tmp_path / "a.tar.gz")
    assert answered("topo", "show", "--from", "@h200x4", "--save-capture", path) == answered(
        "topo", "show", "--from", path
    )


BESIDE = [
    ("topo", "diff", "@dgx-h100-nic-x8", "live"),
    ("topo", "diff", "live", "@dgx-h100-nic-x8"),
    ("topo", "make", "--host", "live", "--guest", "@vm-flat"),
    ("graph", "join", "2*live", "@dgx-h100", "--policy", "nccl"),
]


@pytest.mark.parametrize("command", BESIDE, ids=" ".join)
def test_of_several_machines_this_one_is_saved(dgx, command):
    path = str(dgx / "saved.tar.zst")
    replayed = [word.replace("live", path) for word in command]
    status, text, said = answered(*command, "--save-capture", path)
    again = answered(*replayed)
    assert (status, text) == (again[0], again[1].replace(path, "live"))
    assert said == [line.replace(path, "live") for line in again[2]]
    assert (status, text, said) == answered(*command)


@pytest.mark.parametrize("command", [("topo", "diff", "@h200x4", "@laptop"), ("graph", "join", "2*@h200x4")])
def test_where_this_machine_is_not_named_there_is_nothing_to_save(tmp_path, command):
    done = in_process(*command, "--save-capture", str(tmp_path / "a.tar.zst"))
    assert (done.returncode, "as `live`" in done.stderr) == (2, True)
    assert not list(tmp_path.iterdir())


def test_this_machine_named_twice_is_read_once(reads, dgx):
    assert reads.of("topo", "diff", "live", "live", "--save-capture", str(dgx / "a.tar.zst"))[0] == {}


def test_the_binding_of_a_rank_replays(dgx):
    path, command = str(dgx / "saved.tar.zst"), ("topo", "bind", "--rank", "1", "--dry-run")
    saved = answered(*command, "--save-capture", path, "--", "true")
    assert saved == answered(*command, "--from", path, "--", "true") == answered(*command, "--", "true")


@pytest.mark.parametrize(
    "command",
    [("run", "all_reduce", "-b", "8", "-e", "8", "-n", "1"), ("link", "-b", "8", "-n", "1")],
    ids=lambda command: command[0],
)
def test_what_ranks_were_planned_on_is_saved_once_a_node(tmp_path, command):
    path = tmp_path / "node.tar.zst"
    done = railgauge(*command, "--ranks", "2", "--device", "cpu", "--save-capture", str(path))
    assert done.returncode in (0, 1), done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["node.tar.zst"]
    assert answered("topo", "dump", "--from", str(path)) == answered("topo", "dump")


@pytest.mark.parametrize("command", [("run", "all_reduce"), ("link",), ("cluster", "link", "-w", "a,b"), ("check",)])
def test_a_wrong_name_ends_a_command_before_it_begins(command):
    done = in_process(*command, "--save-capture", "node.zip")
    assert (done.returncode, done.stdout) == (2, "")
    assert ".tar.zst or .tar.gz" in done.stderr
