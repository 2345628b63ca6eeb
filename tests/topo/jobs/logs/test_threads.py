# SPDX-License-Identifier: Apache-2.0
"""Logs of the kinds that users paste in public threads are judged by their cause, as threads.toml has it."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.topo.jobs.logs.read import read

from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.logs.verdict import verdict

THREADS = tomllib.loads(Path(__file__).with_name("threads.toml").read_text())
LOUD = (Level.WARN, Level.FAIL)


@pytest.mark.parametrize("name", THREADS)
def test_a_log_is_judged_by_its_cause(name):
    row = THREADS[name]
    log = read(row["log"].lstrip("\n").replace(r"\e", "\x1b"))
    log.end_file()
    found = verdict(log)
    loud = [one.id for one in found.findings if one.level in LOUD]
    said = " ".join([found.text, *(f"{one.message} {one.remedy}" for one in found.findings)])
    assert loud[:1] == ([row["first"]] if row.get("first") else loud[:1] if "first" not in row else [])
    assert loud or row.get("first") == ""
    assert {*row.get("finds", ())} <= {*loud}
    assert not {*row.get("without", ())} & {*loud}
    assert re.search(row.get("says", ""), said)
    assert "never" not in row or not re.search(row["never"], said)
