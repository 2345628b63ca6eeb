# SPDX-License-Identifier: Apache-2.0
"""The collector: one file that a Python without site-packages runs; what it gives is what railgauge gives."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.command import in_process
from tests.patience import HANGS_AFTER_S

from railgauge.cli.collector import start
from railgauge.cli.collector.archive import archive
from railgauge.cli.topo.archive import packed_capture
from railgauge.fixtures.__main__ import load
from railgauge.topo.facts import named_source
from railgauge.topo.facts.capture import loads
from railgauge.topo.facts.described.files import unpack as unpack_tree
from railgauge.topo.facts.reader import LiveReader

THERE = """
import json, sys, time
from functools import partial
from pathlib import Path
sys.path.insert(0, sys.argv[1])
sys.modules["tomllib"] = None  # as in Python 3.10
from railgauge.cli.collector.main import main
from railgauge.cli.main import run_program
from railgauge.topo.facts import named_source
from railgauge.topo.facts.reader import LiveReader
asks = {name: partial(dict, facts) for name, facts in json.load(open(sys.argv[3])).items()}
named_source.live_reader = lambda root: LiveReader(sys.argv[2], asks)
time.strftime = lambda *_: "now"
run_program(lambda _words: main(sys.argv[4:]))
"""
"""Runs the collector of an archive on a tree of files and recorded facts in place of this machine."""
BARE = os.path.realpath(sys.executable)
"""This Python outside of the virtual environment: its children have no railgauge."""
VIRTUAL = "/var/run/nvidia-topologyd/virtualTopology.xml"


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    path = tmp_path_factory.mktemp("collector") / "collector.pyz"
    path.write_bytes(archive())
    return str(path)


def machine(name, folder, **texts):
    """A fixture laid out on disk, and its facts; texts: more of its files."""
    built = load(name)
    unpack_tree({**built.texts, **texts}, built.links, folder / "root")
    facts = {name: facts for name, facts in built.facts.items() if facts is not None}
    (folder / "facts.json").write_text(json.dumps(facts))
    asks = {name: partial(dict, answer) for name, answer in facts.items()}
    return SimpleNamespace(root=str(folder / "root"), facts=str(folder / "facts.json"), asks=asks)


def collected(collector, there, *args):
    """The collector on such a machine, by a Python that has its standard library alone."""
    command = [BARE, "-S", "-I", "-c", THERE, collector, there.root, there.facts, *args]
    return subprocess.run(command, capture_output=True, timeout=HANGS_AFTER_S, check=False)


def here(monkeypatch, there):
    monkeypatch.setattr(named_source, "live_reader", lambda root: LiveReader(there.root, there.asks))
    monkeypatch.setattr(time, "strftime", lambda *_: "now")


def test_its_capture_is_that_of_railgauge_byte_for_byte(tmp_path, monkeypatch, collector):
    there = machine("dgx-h100", tmp_path)
    done = collected(collector, there, "capture", "-o", "/dev/stdout")
    assert done.returncode == 0, done.stderr
    here(monkeypatch, there)
    assert done.stdout == packed_capture(".tar.gz").data


def test_its_check_finds_what_railgauge_finds_but_for_the_price(tmp_path, monkeypatch, collector):
    there = machine("dgx-h100-nic-x8", tmp_path)
    done = collected(collector, there, "check", "--json")
    here(monkeypatch, there)
    known = json.loads(in_process("check", "--json").stdout)["findings"]
    found = json.loads(done.stdout)["findings"]
    assert [one["id"] for one in found if one["level"] == "FAIL"] == ["pcie-link-degraded"]
    assert found == [one if one["level"] != "FAIL" else {**one, "effect": found[0]["effect"]} for one in known]
    assert known[0]["effect"] != found[0]["effect"]
    assert done.returncode == 1
    assert b"predicted effects (no search for channels) and topology files (no lxml) are left out" in done.stderr


def test_what_needs_a_part_that_is_left_out_is_unknown(tmp_path, collector):
    """A VM whose hypervisor gives it a topology file, which the capture holds."""
    there = machine("dgx-h100", tmp_path, **{VIRTUAL: "<system version='1'/>"})
    done = collected(collector, there, "check", "--json")
    assert done.returncode == 0, done.stderr
    found = [one for one in json.loads(done.stdout)["findings"] if "reads no topology files" in one["message"]]
    assert "topo-file-faulty" in [one["id"] for one in found]
    assert {one["level"] for one in found} == {"UNKNOWN"}
    taken = collected(collector, there, "capture", "-o", "/dev/stdout")
    assert loads(taken.stdout, "stdout").texts[VIRTUAL] == "<system version='1'/>"
    refused = collected(collector, there, "capture", "-o", str(tmp_path / "a.tar.zst"))
    assert (refused.returncode, b"use a name that ends in .tar.gz" in refused.stderr) == (2, True)


def test_it_ends_as_every_command_does(tmp_path, collector):
    """A full disk, a reader that has gone, a key that hides nothing."""
    there = machine("dgx-h100", tmp_path)
    with open("/dev/full", "wb") as full:
        command = [BARE, "-S", "-I", "-c", THERE, collector, there.root, there.facts, "check"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=HANGS_AFTER_S, check=False)
    assert (done.returncode, b"railgauge: cannot write to stdout" in done.stderr) == (3, True)
    with subprocess.Popen([*command, "-v"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        process.stderr.read()
    assert process.returncode == -signal.SIGPIPE
    empty = collected(collector, there, "capture", "-o", "/dev/stdout", "--redact-key", "")
    assert (empty.returncode, b"--redact-key is empty" in empty.stderr) == (2, True)
    unknown = collected(collector, there, "check", "--only", "nonsense")
    assert (unknown.returncode, b"'nonsense'; check -v shows all ids" in unknown.stderr) == (2, True)
    assert collected(collector, there, "--version").stdout.startswith(b"railgauge collector ")


def test_its_children_run_out_of_the_archive(collector):
    asked = f"import sys; sys.path.insert(0, {collector!r})\nfrom railgauge.topo.facts.sources.{{0}} import *\n{{1}}"
    for module, call in (("cuda", "print(live_cuda())"), ("nvml", "print(live_nvml())")):
        command = [BARE, "-S", "-I", "-c", asked.format(module, call)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False)
        assert "railgauge" not in done.stdout + done.stderr  # no module was missing, whatever the library said
        assert done.stdout.startswith("{")


def test_an_older_python_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 9))
    with pytest.raises(SystemExit) as ended:
        start.start()
    assert (ended.value.code, "it needs Python 3.10" in capsys.readouterr().err) == (3, True)


def test_the_same_sources_make_the_same_archive(collector):
    assert Path(collector).read_bytes() == archive()
