# SPDX-License-Identifier: Apache-2.0
"""graph lint on the command line."""

import json

from tests.cli.command import in_process as railgauge


def graph_file(tmp_path, **changes):
    path = tmp_path / "graph.txt"
    search = ("graph", "search", "--policy", "nccl", "--from", "@dgx-h100", "-o", str(path))
    assert railgauge(*search).returncode == 0
    text = path.read_text()
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)
    return str(path)


def test_a_healthy_file_passes(tmp_path):
    done = railgauge("graph", "lint", graph_file(tmp_path), "--from", "@dgx-h100")
    assert done.returncode == 0
    assert "PASS graph-sound" in done.stdout
    assert "GB/s" in done.stdout


def test_a_fault_ends_with_status_1_and_its_line(tmp_path):
    path = graph_file(tmp_path, twice=('<gpu dev="0x3"/>', '<gpu dev="0x2"/>'))
    done = railgauge("graph", "lint", path, "--from", "@dgx-h100", "--json")
    assert done.returncode == 1
    found = {finding["id"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert found["graph-gpu-repeated"]["line"] == 7
    assert found["graph-gpu-repeated"]["level"] == "FAIL"


def test_a_warning_counts_unless_fail_on_says_otherwise(tmp_path):
    path = graph_file(tmp_path, near=('typeintra="NVL"', 'typeintra="LOC"'))
    assert railgauge("graph", "lint", path, "--from", "@dgx-h100").returncode == 1
    assert railgauge("graph", "lint", path, "--from", "@dgx-h100", "--fail-on", "FAIL").returncode == 0


def test_a_file_for_another_machine_fails(tmp_path):
    assert railgauge("graph", "lint", graph_file(tmp_path), "--from", "@h200x4").returncode == 1


def test_unreadable_xml_ends_with_status_5(tmp_path):
    path = tmp_path / "graph.txt"
    path.write_text("<graphs")
    done = railgauge("graph", "lint", str(path), "--from", "@dgx-h100")
    assert done.returncode == 5
    assert f"{path}:1" in done.stderr
