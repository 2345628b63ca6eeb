# SPDX-License-Identifier: Apache-2.0
"""Logs of real jobs are judged as their threads were resolved, by the table truth.toml.

The logs are not part of the tree: they are looked for beside it, in ../shared.
"""

import gzip
import re
import tomllib
from pathlib import Path

import pytest
from tests.topo.jobs.logs.read import read

from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.logs.verdict import verdict
from railgauge.topo.machine import load_machine

SAMPLES = Path(__file__).parents[4].parent / "shared/samples/real"
TRUTH = tomllib.loads(Path(__file__).with_name("truth.toml").read_text())
LOUD = (Level.WARN, Level.FAIL)
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not beside the tree")


def content(word):
    (path,) = sorted((SAMPLES / "logs").glob(f"{word}*"))
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def judged(log, machine=None):
    log.end_file()
    return verdict(log, machine)


@pytest.mark.parametrize("word", TRUTH)
def test_a_log_is_judged_as_its_thread_was_resolved(word):
    log, row = read(content(word)), TRUTH[word]
    found = judged(log)
    loud = [one.id for one in found.findings if one.level in LOUD]
    said = " ".join([found.text, *(one.message for one in found.findings)])
    assert {*row.get("finds", ())} <= {*loud}
    assert not {*row.get("without", ())} & {*loud}
    assert "first" not in row or loud[:1] == [row["first"]]
    assert "first" in row or "finds" in row or not loud
    assert re.search(row.get("says", ""), said)
    assert "never" not in row or not re.search(row["never"], said)
    devices = {device for host in log.devices.values() for device in host.get("IB", ())}
    assert {*row.get("says_devices", ())} <= devices


def test_every_log_has_a_row():
    names = [path.name for path in (SAMPLES / "logs").iterdir()]
    assert [name for name in names if not any(name.startswith(word) for word in TRUTH)] == []


def test_a_machine_that_allows_more_channels():
    machine = load_machine(str(SAMPLES / "xml/timez-topo_real.xml"))
    fault = [one for one in judged(read(content("timez-nccl-fault")), machine).findings if one.id == "fewer-channels"]
    assert "1 x 20 GB/s was chosen; 12 x 20 GB/s is what NCCL finds" in fault[0].message
    assert "fewer-channels" not in {one.id for one in judged(read(content("timez-nccl.log")), machine).findings}


def test_two_runs_of_a_machine_one_slower():
    both = judged(read(content("timez-nccl-fault") + content("timez-nccl.log")))
    assert any(one.id == "run-slower" and "6 times" in one.message for one in both.findings)
