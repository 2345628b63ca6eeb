# SPDX-License-Identifier: Apache-2.0
"""What makes a machine slower than its baseline, in both directions, and what cannot be compared."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
from tests.topo.findings.node.cases import case

from railgauge.topo.facts.capture import CaptureReader, loads
from railgauge.topo.facts.named_source import fixture_path
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.node import changed_since, slower_than_before
from railgauge.topo.findings.node.baseline import Baseline, SinceBaseline
from railgauge.topo.findings.node.rule import examine
from railgauge.topo.machine import Machine, recorded

NICS = [f"/sys/bus/pci/devices/{device.bus_id}" for device in case("dgx-h100").facts.rdma]
NIC = "/sys/bus/pci/devices/0000:18:00.0"
PORT = "/sys/class/infiniband/mlx5_0/ports/1"


@pytest.fixture
def well():
    return case("dgx-h100")


def found(rule, before, after):
    """What a rule says of a machine beside another."""
    baseline = Baseline(name="then", host=before.host, findings=(), machine=before)
    return list(examine(rule, after, SinceBaseline(machine=after, baseline=baseline)))


def slower(before, after):
    return [one.message for one in found(slower_than_before.RULE, before, after) if one.level is Level.WARN]


def other(before, after):
    return [one.message for one in found(changed_since.RULE, before, after) if one.level is Level.INFO]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("dgx-h100-nic-x8", ["NIC mlx5_0 (0000:18:00.0): x16 -> x8", "2-node all_reduce 1 GiB"]),
        ("dgx-h100-nvlink-down", ["GPU2 (0000:52:00.0): 18 -> 17 NVLinks", "1-node all_reduce 1 GiB"]),
        ("dgx-h100-port-down", ["mlx5_3 port 1: Active -> Down"]),
    ],
)
def test_a_fault_is_slower_than_before_and_not_the_other_way_round(fault, told):
    well, faulty = case("dgx-h100"), case(fault)
    lines = slower(well, faulty)
    assert all(any(words in line for line in lines) for words in told), lines
    assert slower(faulty, well) == []
    assert other(faulty, well)


def test_equal_machines_pass():
    assert [one.level for one in found(slower_than_before.RULE, case("dgx-h100"), case("dgx-h100"))] == [Level.PASS]
    assert [one.level for one in found(changed_since.RULE, case("dgx-h100"), case("dgx-h100"))] == [Level.PASS]


def test_without_a_baseline_neither_has_anything_to_say():
    assert [list(examine(rule.RULE, case("dgx-h100"))) for rule in (slower_than_before, changed_since)] == [[], []]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({f"{NIC}/max_link_width": "8", f"{NIC}/current_link_width": "8"}, "NIC mlx5_0 (0000:18:00.0): x16 -> x8"),
        ({f"{PORT}/rate": "200 Gb/sec (4X HDR)"}, "mlx5_0 port 1: 400 Gb/sec (4X NDR) -> 200 Gb/sec (4X HDR)"),
        ({NIC: None, "/sys/class/infiniband/mlx5_0": None}, "NIC mlx5_0 (0000:18:00.0) is gone"),
    ],
)
def test_what_a_machine_has_lost_is_told(well, files, told):
    assert told in slower(well, case("dgx-h100", files=files))


def test_a_recorded_machine_that_lost_nvlinks_is_slower():
    found = loads(Path(fixture_path("h200x4")).read_bytes(), "h200x4")
    down = deepcopy(found.facts)
    for link in down["nvml"]["gpus"][2]["links"]:
        link["state"] = 0
    before, after = (recorded(CaptureReader(replace(found, facts=facts))) for facts in (found.facts, down))
    lines = slower(before, after)
    assert "GPU2 (0000:00:08.0): 18 -> 0 NVLinks" in lines
    assert lines[0].startswith("predicted: 1-node all_reduce 1 GiB")
    assert slower(after, before) == []


def test_a_link_that_rests_is_not_slower(well):
    resting = case("dgx-h100", files={f"{nic}/current_link_speed": "8.0 GT/s PCIe" for nic in NICS})
    assert slower(well, resting) == []
    assert other(well, resting)[0] == "NIC mlx5_0 (0000:18:00.0): 32 GT/s -> 8 GT/s"


def test_driver_and_firmware_are_told_beside(well):
    newer = case("dgx-h100", files={"/sys/class/infiniband/mlx5_0/fw_ver": "28.43.2026"})
    assert slower(well, newer) == []
    assert other(well, newer) == ["NIC mlx5_0 (0000:18:00.0): firmware 28.39.1002 -> 28.43.2026"]


def test_what_one_side_does_not_tell_is_unknown():
    silent = case("dgx-h100", files={f"{PORT}/state": None})
    levels = {one.level for one in found(slower_than_before.RULE, case("dgx-h100"), silent)}
    assert Level.UNKNOWN in levels
    assert not any("state" in line or "Active" in line for line in slower(case("dgx-h100"), silent))


def test_a_topology_file_compares_what_it_tells():
    file = Machine(topology=case("dgx-h100").topology)
    levels = [one.level for one in found(slower_than_before.RULE, file, case("dgx-h100"))]
    assert levels == [Level.UNKNOWN]
    assert "GPU2 (0000:52:00.0): 18 -> 17 NVLinks" in slower(file, case("dgx-h100-nvlink-down"))


def test_findings_alone_leave_the_machine_unknown():
    now = case("dgx-h100")
    since = SinceBaseline(machine=now, baseline=Baseline(name="then", host="", findings=()))
    assert [one.level for one in examine(slower_than_before.RULE, now, since)] == [Level.UNKNOWN]
    assert list(examine(changed_since.RULE, now, since)) == []
