# SPDX-License-Identifier: Apache-2.0
"""Every id that a command prints can be explained."""

import re
from pathlib import Path

import pytest
from tests.cli.command import in_process as railgauge

from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.node.explanation import explanation, known
from railgauge.topo.jobs.logs.catalogue import CATALOGUE

FOLDERS = ("topo", "transports", "collectives", "cli")
IDS = re.compile(r'\bid="([a-z0-9]+(?:-[a-z0-9]+)+)"|_finding\(\s*"([a-z0-9]+(?:-[a-z0-9]+)+)"')


def written():
    """The ids that stand in the sources: of rules, and of findings that are made without one."""
    sources = (path for folder in FOLDERS for path in (Path(__file__).parents[4] / folder).rglob("*.py"))
    found = (match for path in sources for match in IDS.finditer(path.read_text()))
    return {one or other for match in found for one, other in [match.groups()]}


def test_all_ids_are_known():
    ids = written() | {entry.id for entry in CATALOGUE}
    assert {"gpu-direct-rdma", "nodes-differ", "nvlink-missing", "other-warning"} <= ids
    assert ids <= set(known())


@pytest.mark.parametrize("identifier", sorted(known()))
def test_each_fault_says_how_to_mend_it(identifier):
    text = explanation(identifier)
    assert text.startswith(f"{identifier}: ")
    faulty = {Level.WARN, Level.FAIL} & {*known()[identifier].levels}
    assert "How to mend it: " in text or not faulty


def test_explain_on_the_command_line():
    assert "Channel 00/0" in railgauge("explain", "gpu-direct-rdma").stdout
    assert railgauge("explain", "gpu-direct").returncode == 2
