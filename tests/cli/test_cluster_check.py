# SPDX-License-Identifier: Apache-2.0
"""railgauge cluster check on captures: findings with their nodes, folded, and the exit status."""

import json
import re
from pathlib import Path
from unittest import mock

import pytest
from tests.cli.command import in_process, railgauge
from tests.cli.test_schemas import check
from tests.topo.findings.cluster.fleets import usual, write

from railgauge.cli.cluster.gather import GatherLimits
from railgauge.topo.errors import UnavailableError

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "cluster.md"


def test_check_names_the_nodes_and_ends_with_the_status_of_findings(tmp_path):
    for number in range(1, 4):
        write(tmp_path, f"gpu{number}", usual())
    write(tmp_path, "gpu4", usual("dgx-h100-nic-x8"))
    done = railgauge("cluster", "check", "--from", str(tmp_path), "--skip", "host-id-collision")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("4 nodes read\nWARN ")
    assert "pcie-link-degraded: gpu4: 0000:18:00.0 runs with 8 lanes" in done.stdout
    only = railgauge("cluster", "check", "--from", str(tmp_path), "--only", "nodes-differ", "--json")
    assert only.returncode == 1, only.stderr
    document = json.loads(only.stdout)
    check("findings", document)
    assert {(one["id"], one["host"]) for one in document["findings"]} == {("nodes-differ", "gpu4")}


@pytest.mark.parametrize("answer", ["check", "dump"])
def test_nodes_are_given_the_time_that_is_documented(answer):
    seconds, at_a_time = re.search(r"`--timeout (\d+)`, `--fanout (\d+)`", PAGE.read_text()).groups()
    with mock.patch("railgauge.cli.cluster.gathered_files.gathered_files", side_effect=UnavailableError("no")) as asked:
        assert in_process("cluster", answer, "-w", "gpu1").returncode == 3
    assert asked.call_args.args[-1] == GatherLimits(timeout_s=float(seconds), fanout=int(at_a_time))


def test_check_of_nothing_readable_is_bad_input(tmp_path):
    (tmp_path / "gpu1.tar.gz").write_bytes(b"nothing")
    done = railgauge("cluster", "check", "--from", str(tmp_path))
    assert done.returncode == 5
    assert railgauge("cluster", "check", "--from", str(tmp_path), "-w", "gpu1").returncode == 2
