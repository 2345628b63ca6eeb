# SPDX-License-Identifier: Apache-2.0
"""No false alarm for machines known to be healthy, and every file known to be faulty is found."""

import re
from pathlib import Path

from tests import golden_answers
from tests.topo.findings.topology_file.topology_text import findings

from railgauge.topo.machine import load_machine
from railgauge.topo.xml import topology_file

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
    "real_firecracker-4xh200",
    "consumer-2x5090",
    "dgx-1v",
    "dgx-h100",
    "h200x4",
    "power9-ac922",
]
FAULTY = {
    "cloud_azure-ndv4-numa-swapped": ("affinity-mask-wrong", 26),
    "cloud_azure-ndv5-bad-affinity": ("affinity-mask-wrong", 52),
    "real_ibm-vpc-h100": ("pcie-bridge-bogus", 3),
    "real_nccl2397-nodeA-2xA100pcie-cx6dx-x8": ("pcie-link-degraded", 3),
    "real_ncclminer-8xV100-vm": ("vm-flat-topology", 3),
    "rcclx_8p_rome_n2_1": ("net-duplicate", 62),
    "vm-flat": ("vm-flat-topology", 3),
}


TWIN = "real_nccl2397-nodeB-2xA100pcie-cx6dx-x16"
SWAPPED = "cloud_azure-ndv4-numa-swapped"
SWAPS = {
    SWAPPED: [("0", "1"), ("1", "0"), ("2", "3"), ("3", "2")],
    "dgx-h100": [("1", "0"), ("0", "1")],
}


def pytest_generate_tests(metafunc):
    """Ours are always there, the others with NCCL's answers."""
    of = {"healthy": [*HEALTHY, TWIN], "faulty": FAULTY, "swapped": SWAPS}
    for wanted in of.keys() & set(metafunc.fixturenames):
        metafunc.parametrize(wanted, golden_answers.named(metafunc.config, *of[wanted]), ids=lambda path: path.stem)


def topology_of(path: Path) -> str:
    return golden_answers.read(path)["topo"]


def alarms(found):
    return [(f.id, f.line, f.message) for f in found if f.level in ("WARN", "FAIL", "UNKNOWN")]


def test_a_healthy_machine_raises_no_alarm(tmp_path, healthy):
    assert alarms(findings(tmp_path, topology_of(healthy))) == []


def test_a_faulty_file_is_found(tmp_path, faulty):
    assert FAULTY[faulty.stem] in [(f, line) for f, line, _ in alarms(findings(tmp_path, topology_of(faulty)))]


def test_swapped_nodes_are_found_beside_the_right_file(tmp_path, swapped):
    path = tmp_path / "right.xml"
    right = topology_of(swapped.with_stem(swapped.stem.removesuffix("-numa-swapped")))
    path.write_text(right)
    wrong = topology_of(swapped) if swapped.stem == SWAPPED else with_nodes_swapped(right)
    found = findings(tmp_path, wrong, load_machine(str(path)))
    moved = [f.evidence for f in found if f.id == "device-misplaced"]
    assert [(e["file_numaid"], e["machine_numaid"]) for e in moved] == SWAPS[swapped.stem]


def with_nodes_swapped(text: str) -> str:
    return re.sub('numaid="([01])"', lambda found: f'numaid="{1 - int(found[1])}"', text)


def test_a_flat_tree_costs_nothing_where_nvlinks_join_the_gpus_and_no_nic_is_there(tmp_path):
    """Those of described machines are in their [expect]: tests/topo/test_fixtures.py."""
    machine = load_machine("@h200x4")
    found = findings(tmp_path, topology_file.dumps(machine.topology), machine)
    assert alarms(found) == []
    (flat,) = [one for one in found if one.id == "vm-flat-topology"]
    assert (flat.level, flat.remedy) == ("INFO", "")
