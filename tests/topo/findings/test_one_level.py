# SPDX-License-Identifier: Apache-2.0
"""One fact has one level in every command that finds it: check, cluster check, gdr check, topo lint, log explain."""

import json

import pytest
from tests.cli.command import in_process as railgauge
from tests.topo.findings.cluster import fleets
from tests.topo.findings.node.cases import IB, PCI, changed

from railgauge.topo.facts.capture import dumps
from railgauge.topo.machine import load_machine
from railgauge.topo.xml import topology_file

GPU = "0000:1b:00.0"
PORT = f"{IB}/mlx5_0/ports/1"
FACTS = {
    "nvlink-missing": ("FAIL", "dgx-h100", {"facts": {"nvml.gpus.5.links": []}}),
    "gpu-lost": ("FAIL", "dgx-h100-gpu-lost", {}),
    "nic-lost": ("FAIL", "dgx-h100", {"files": {f"{IB}/mlx5_3": None}}),
    "ib-port-down": ("FAIL", "hgx-h100-8nic", {"files": {f"{PORT}/state": "1: DOWN"}}),
    "peermem-missing": ("FAIL", "dgx-a100-no-peermem", {}),
    "dmabuf-unsupported": ("FAIL", "dgx-a100-no-peermem", {}),
    "pcie-link-degraded": ("FAIL", "dgx-h100", {"files": {f"{PCI}/0000:18:00.0/current_link_width": "8"}}),
    "expectation-unmet": ("FAIL", "dgx-h100", {"files": {f"{PCI}/{GPU}/current_link_width": "8"}}),
}
"""By id: the level of a fact, and a machine that has it."""
LESSER = {
    "nvlink-missing": ("WARN", "dgx-h100-nvlink-down", {}),
    "devices-differ": ("WARN", "dgx-h100", {"facts": {f"nvml.gpus.{n}.vbios": "9" if n else "8" for n in range(8)}}),
    "pcie-link-degraded": ("WARN", "dgx-h100", {"files": {f"{PCI}/0000:18:00.0/current_link_width": "12"}}),
}
BRIDGE = {"name": "br-4f1d", "index": 1, "flags": 0x1043, "addresses": ["172.18.0.1"], "prefix": 16}
ETH0 = {"name": "eth0", "index": 2, "flags": 0x1043, "addresses": ["10.0.0.5"], "prefix": 24}
BRIDGED = {"interfaces": {"interfaces": [BRIDGE, ETH0]}}
ALL = [(one, *FACTS[one]) for one in FACTS] + [(one, *LESSER[one]) for one in LESSER]
ALL.append(
    (
        "socket-ifname-virtual",
        "FAIL",
        "laptop",
        {"facts": BRIDGED, "settings": {}, "files": {"/sys/class/net/eth0/mtu": "1"}},
    )
)


def levels(identifier, *command):
    """The levels of an id, but PASS, in a command's document."""
    document = json.loads(railgauge(*command, "--json").stdout)
    return {one["level"] for one in document["findings"] if one["id"] == identifier} - {"PASS"}


def written(tmp_path, name, changes):
    path = tmp_path / "node.tar.gz"
    path.write_bytes(dumps(changed(name, **changes)))
    return path


@pytest.mark.parametrize(("identifier", "level", "name", "changes"), ALL)
def test_check_lint_and_cluster_check_give_a_fact_one_level(tmp_path, identifier, level, name, changes):
    path = written(tmp_path, name, changes)
    assert levels(identifier, "check", "--from", str(path), "--only", identifier) == {level}
    capture = changed(name, **changes)
    (tmp_path / "cluster").mkdir()
    for number in (1, 2):
        fleets.write(tmp_path / "cluster", f"gpu{number}", capture)
    assert levels(identifier, "cluster", "check", "--from", str(tmp_path / "cluster"), "--only", identifier) == {level}
    (tmp_path / "topo.xml").write_text(topology_file.dumps(load_machine(str(path)).topology))
    linted = levels(identifier, "topo", "lint", str(tmp_path / "topo.xml"), "--from", str(path))
    assert linted <= {level}


def test_gdr_check_has_the_level_of_check_for_a_machine_without_peer_memory(tmp_path):
    path = written(tmp_path, "dgx-a100-no-peermem", {})
    gdr = levels("gpu-direct-rdma", "gdr", "check", "--no-transfer", "--from", str(path))
    assert "FAIL" in gdr
    assert levels("peermem-missing", "check", "--from", str(path)) == {"FAIL"}


ON_THE_WAY = ["nvlink-missing", "gpu-lost", "nic-lost", "ib-port-down", "pcie-link-degraded"]
GIDS = {"files": {f"{PORT}/gids/{n}": "0000:0000:0000:0000:0000:0000:0000:0000" for n in range(16)}}


@pytest.mark.parametrize(
    ("identifier", "level", "name", "changes"),
    [one for one in ALL if one[0] in ON_THE_WAY] + [("rail-unreachable", "WARN", "hgx-h100-8nic", GIDS)],
)
def test_gdr_check_has_the_levels_of_check_for_what_is_between_gpu_and_nic(tmp_path, identifier, level, name, changes):
    path = written(tmp_path, name, changes)
    assert levels(identifier, "check", "--from", str(path)) == {level}
    assert levels(identifier, "gdr", "check", "--from", str(path)) == {level}
    assert railgauge("gdr", "check", "--from", str(path)).returncode == 1


def test_gdr_check_of_a_pair_has_what_concerns_it(tmp_path):
    path = str(written(tmp_path, "dgx-h100", {"files": {f"{PCI}/0000:18:00.0/current_link_width": "8"}}))
    assert railgauge("gdr", "check", "GPU0", "mlx5_0", "--from", path).returncode == 1
    assert railgauge("gdr", "check", "GPU1", "mlx5_3", "--from", path).returncode == 0


def test_log_explain_has_the_levels_of_check(tmp_path):
    lines = [
        "gpu-01:7:8 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>",
        "gpu-02:9:9 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>",
        "gpu-01:7:8 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'",
        "gpu-01:7:8 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [send] via NET/IB/0",
    ]
    (tmp_path / "nccl.log").write_text("\n".join(lines) + "\n")
    for identifier in ("socket-ifname-virtual", "peermem-missing"):
        assert levels(identifier, "log", "explain", str(tmp_path / "nccl.log")) == {"FAIL"}
