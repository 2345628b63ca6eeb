# SPDX-License-Identifier: Apache-2.0
"""railgauge cluster check on captures: findings with their nodes, folded, and the exit status."""

import json

from tests.cli.command import railgauge
from tests.cli.test_schemas import check
from tests.topo.fleet.fleets import usual, write


def test_check_names_the_nodes_and_ends_with_the_status_of_findings(tmp_path):
    for number in range(1, 4):
        write(tmp_path, f"gpu{number}", usual())
    write(tmp_path, "gpu4", usual("dgx-h100-nic-x8"))
    done = railgauge("cluster", "check", "--from", str(tmp_path), "--skip", "host-id-collision", "--fail-on", "WARN")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("4 nodes read\nWARN ")
    assert "pcie-link-degraded: gpu4: 0000:18:00.0 runs with 8 lanes" in done.stdout
    only = railgauge("cluster", "check", "--from", str(tmp_path), "--only", "nodes-differ", "--json")
    assert only.returncode == 0, only.stderr
    document = json.loads(only.stdout)
    check("findings", document)
    assert {(one["id"], one["host"]) for one in document["findings"]} == {("nodes-differ", "gpu4")}


def test_check_of_nothing_readable_is_bad_input(tmp_path):
    (tmp_path / "gpu1.tar.gz").write_bytes(b"nothing")
    done = railgauge("cluster", "check", "--from", str(tmp_path))
    assert done.returncode == 5
    assert railgauge("cluster", "check", "--from", str(tmp_path), "-w", "gpu1").returncode == 2
