# SPDX-License-Identifier: Apache-2.0
"""No false alarm for machines known to be healthy, and every file known to be faulty is found."""

import json
from pathlib import Path

import pytest
from tests.topo.lint.topology_text import findings

from railgauge.topo import xml
from railgauge.topo.machine import load_machine

GOLDEN = Path(__file__).parents[4] / "shared" / "golden"
HEALTHY = [
    "hand_dgx1p",
    "hand_dgx2",
    "hand_dgx-a100",
    "hand_dgx-a100-100g",
    "hand_hgx-h100-amd",
    "hand_hgx-h800",
    "hand_hgx-b200-8nic",
    "hand_hgx-b300-8x800g",
    "hand_gb200-nvl-4gpu",
    "hand_gb300-nvl-4gpu-cx8-sw",
    "hand_gh200-4gpu",
    "hand_summit-ac922-6gpu",
    "hand_sierra-ac922-4gpu",
    "hand_ws-2gpu-3090-nvlink",
    "cloud_azure-ndv2",
    "cloud_azure-ndv4",
    "cloud_azure-ndv5",
    "cloud_nebius-h100",
    "cloud_oci-bm-gpu-b4",
    "cloud_aws-p4d",
    "cloud_aws-p4de",
    "real_gb300-2tray-fused",
]
FAULTY = {
    "cloud_azure-ndv4-numa-swapped": ("affinity-mask-wrong", 26),
    "cloud_azure-ndv5-bad-affinity": ("affinity-mask-wrong", 52),
    "real_ibm-vpc-h100": ("pcie-bridge-bogus", 3),
    "real_nccl2397-nodeA-2xA100pcie-cx6dx-x8": ("pcie-link-degraded", 3),
    "real_firecracker-4xh200": ("vm-flat-topology", 3),
    "real_ncclminer-8xV100-vm": ("vm-flat-topology", 3),
    "rcclx_8p_rome_n2_1": ("net-duplicate", 62),
}


def golden(name):
    path = GOLDEN / f"{name}.json"
    if not path.is_file():
        pytest.skip("the golden answers are not at hand")
    return json.loads(path.read_text())["topo"]


def alarms(found):
    return [(f.id, f.line, f.message) for f in found if f.level in ("WARN", "FAIL", "UNKNOWN")]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_raises_no_alarm(tmp_path, name):
    assert alarms(findings(tmp_path, golden(name))) == []


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_file_is_found(tmp_path, name):
    assert FAULTY[name] in [(f, line) for f, line, _ in alarms(findings(tmp_path, golden(name)))]


def test_the_twin_of_the_narrow_nic_raises_no_alarm(tmp_path):
    assert alarms(findings(tmp_path, golden("real_nccl2397-nodeB-2xA100pcie-cx6dx-x16"))) == []


def test_swapped_nodes_are_found_beside_the_right_file(tmp_path):
    path = tmp_path / "right.xml"
    path.write_text(golden("cloud_azure-ndv4"))
    found = findings(tmp_path, golden("cloud_azure-ndv4-numa-swapped"), load_machine(str(path)))
    moved = [f.evidence for f in found if f.id == "device-misplaced"]
    assert [(e["file_numaid"], e["machine_numaid"]) for e in moved] == [("0", "1"), ("1", "0"), ("2", "3"), ("3", "2")]


def test_what_we_write_of_the_recorded_machine_raises_its_true_alarm_alone(tmp_path):
    """Those of described machines are in their [expect]: tests/topo/test_fixtures.py."""
    machine = load_machine("@h200x4")
    found = alarms(findings(tmp_path, xml.dumps(machine.topology), machine))
    assert [finding for finding, _, _ in found] == ["vm-flat-topology"]
