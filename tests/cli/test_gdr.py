# SPDX-License-Identifier: Apache-2.0
"""`gdr check` as a matrix and as findings, by its exit status, for all pairs and for one."""

import json

from tests.cli.command import in_process as railgauge

from railgauge.cli.gdr.check import tried
from railgauge.topo.findings.gdr.pairs import gdr_pairs
from railgauge.topo.machine import load_machine


def test_the_matrix_and_what_proves_it():
    result = railgauge("gdr", "check", "--from", "@a100-4gpu")
    assert result.returncode == 0, result.stderr
    header, _, *lines = result.stdout.splitlines()
    assert header.startswith("a100-4gpu: ")
    assert lines[0].split() == ["mlx5_0", "mlx5_1"]
    assert lines[1].split()[:2] == ["GPU0", "yes"]
    assert "no data was moved" in result.stdout


def test_reasons_and_remedies_with_the_status_of_findings():
    result = railgauge("gdr", "check", "--from", "@dgx-a100-no-peermem")
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    [place] = [number for number, line in enumerate(lines) if line.startswith("FAIL")]
    assert "GPU0 mlx5_0: would not be used: no peer-memory module" in lines[place]
    assert lines[place + 1].startswith("    also: GPU0 mlx5_1, ")
    assert lines[place + 1].count(",") == 14
    assert "modprobe nvidia_peermem" in result.stdout


def test_one_pair_as_json():
    result = railgauge("gdr", "check", "GPU0", "mlx5_3", "--from", "@dgx-h100", "--json")
    [finding] = json.loads(result.stdout)["findings"]
    assert (finding["id"], finding["level"], finding["subject"]) == ("gpu-direct-rdma", "PASS", "GPU0 mlx5_3")


def test_what_fixing_brings_is_of_the_node_however_many_pairs_are_asked_for():
    asked = (("gdr", "check", *pair, "--from", "@dgx-a100-no-peermem", "--json") for pair in ((), ("GPU0", "mlx5_0")))
    whole, one = (json.loads(railgauge(*command).stdout)["findings"] for command in asked)
    assert {found["effect"] for found in one} == {found["effect"] for found in whole if found["level"] == "FAIL"}
    assert "+" in one[0]["effect"]


def test_a_setting_asked_for_counts():
    pair = ("GPU0", "mlx5_0", "--from", "@dgx-h100", "--set", "NCCL_NET_GDR_READ=0")
    result = railgauge("gdr", "check", *pair)
    assert result.returncode == 1
    assert "WARN gpu-direct-rdma: GPU0 mlx5_0: would not be used for sending: NCCL_NET_GDR_READ=0" in result.stdout
    assert railgauge("gdr", "check", *pair, "--fail-on", "FAIL").returncode == 0


def test_ends_and_settings_that_there_are_not():
    assert railgauge("gdr", "check", "GPU9", "--from", "@dgx-h100").returncode == 2
    assert railgauge("gdr", "check", "NUMA0", "--from", "@dgx-h100").returncode == 2
    assert railgauge("gdr", "check", "--set", "NCCL_DEBUG=INFO", "--from", "@dgx-h100").returncode == 2


def test_each_pair_that_is_tried_has_a_result():
    _, pairs = gdr_pairs(load_machine("@dgx-h100"))
    results = tried(load_machine("@dgx-h100"), pairs)  # NICs of another machine: no byte moves
    assert set(results) == set(pairs)
    assert all(one.why_not for one in results.values())


def test_a_topology_file_is_taken_at_its_word(tmp_path):
    file = tmp_path / "topo.xml"
    file.write_text(railgauge("topo", "dump", "--from", "@a100-4gpu").stdout.replace('gdr="1"', 'gdr="0"'))
    result = railgauge("gdr", "check", "--from", str(file))
    assert result.returncode == 1
    assert "the file has gdr=0" in result.stdout


def test_sockets_in_a_topology_file_are_no_fault(tmp_path):
    file = tmp_path / "topo.xml"
    file.write_text(railgauge("topo", "dump", "--from", "@h200x4").stdout)
    result = railgauge("gdr", "check", "--from", str(file))
    assert (result.returncode, result.stdout.splitlines()[2].split()[0]) == (0, "INFO")


def test_rows_stand_in_the_order_of_the_gpus_also_where_one_has_lost_its_nic():
    lines = railgauge("gdr", "check", "--from", "@dgx-h100-port-down").stdout.splitlines()
    assert [one.split()[0] for one in lines if one.startswith("GPU")] == [f"GPU{number}" for number in range(8)]
