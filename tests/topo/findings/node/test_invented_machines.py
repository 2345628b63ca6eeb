# SPDX-License-Identifier: Apache-2.0
"""Machines with one fault that no fixture has: `check` and `cluster check` name it first, with one level, and end with
1; the same machines without it end with 0.
"""

import pytest
from tests.cli.command import in_process
from tests.topo.findings.node.cases import IB, PCI, case, changed, healthy, with_changes
from tests.topo.findings.node.planted import gids, links_down

from railgauge.topo.facts.capture import dumps

DGX, HGX, A100, VM = "dgx-h100", "hgx-h100-8nic", "dgx-a100", "vm-flat"
NIC = {name: {one.name: one.bus_id for one in case(name).sources.rdma} for name in (HGX, VM)}


def gpu3(**readings):
    """Readings of GPU3's health."""
    there = healthy().facts["gpu_health"]["gpus"][3]
    facts = {name: {**there[name], **value} if isinstance(value, dict) else value for name, value in readings.items()}
    return with_changes(healthy(), facts={f"gpu_health.gpus.3.{name}": value for name, value in facts.items()})


def nic(name, device, **texts):
    return changed(name, files={f"{PCI}/{NIC[name][device]}/{key}": text for key, text in texts.items()})


def vbios(odd):
    return changed(DGX, facts={f"nvml.gpus.{n}.vbios": "96.00.89" if n != odd else "96.00.74" for n in range(8)})


MACHINES = {
    "persistence mode off on one GPU": (gpu3(persistence=0), "WARN persistence-off: ", "GPU3"),
    "ECC pending": (gpu3(remapped_rows={"pending": 1}), "FAIL gpu-row-remap: ", "GPU3"),
    "power limit of one GPU": (
        gpu3(power_mw={"limit": 500000, "enforced": 500000}),
        "WARN gpu-power-limit-low: ",
        "GPU3",
    ),
    "clock of one GPU": (gpu3(clocks_mhz={"sm_max": 1200}), "WARN gpu-clock-low: ", "GPU3"),
    "VBIOS of one GPU": (vbios(5), "WARN devices-differ: ", "GPU5"),
    "NIC firmware": (changed(DGX, files={f"{IB}/mlx5_4/fw_ver": "28.30.1"}), "WARN devices-differ: ", "mlx5_4"),
    "NIC at x8": (nic(HGX, "mlx5_3", current_link_width="8"), "FAIL pcie-link-degraded: ", NIC[HGX]["mlx5_3"]),
    "NIC of a VM at x8": (nic(VM, "mlx5_0", current_link_width="8"), "FAIL pcie-link-degraded: ", NIC[VM]["mlx5_0"]),
    "NIC of a VM that is lost": (changed(VM, files={f"{IB}/mlx5_0": None}), "FAIL nic-lost: ", NIC[VM]["mlx5_0"]),
    "NIC on the other NUMA node": (nic(HGX, "mlx5_3", numa_node="1"), "WARN numa-node-missing: ", NIC[HGX]["mlx5_3"]),
    "NVLink of one GPU": (changed(A100, facts=links_down(4, 0)), "WARN nvlink-missing: ", "0000:87:00.0"),
    "no GID": (changed(HGX, files=gids()), "WARN rail-unreachable: ", "mlx5_0:1"),
    "port at a quarter": (
        changed(HGX, files={f"{IB}/mlx5_2/ports/1/rate": "100 Gb/sec (2X NDR)"}),
        "WARN ib-rate-low: ",
        "mlx5_2:1",
    ),
}


def alarms(*arguments):
    done = in_process(*arguments, "-q")
    return done.returncode, [line for line in done.stdout.splitlines() if line.startswith(("FAIL", "WARN"))]


@pytest.mark.parametrize("fault", MACHINES)
def test_the_fault_is_named_first_in_every_command(fault, tmp_path):
    capture, begins, device = MACHINES[fault]
    (tmp_path / "node.tar.gz").write_bytes(dumps(capture))
    status, (first, *_) = alarms("check", "--from", str(tmp_path / "node.tar.gz"))
    assert (status, first[: len(begins)]) == (1, begins)
    assert device in first
    status, (among, *_) = alarms("cluster", "check", "--from", str(tmp_path))
    assert (status, among[: len(begins)]) == (1, begins)
    assert device in among


def test_the_same_machine_without_a_fault_ends_with_0(tmp_path):
    (tmp_path / "node.tar.gz").write_bytes(dumps(healthy()))
    assert alarms("check", "--from", str(tmp_path / "node.tar.gz")) == (0, [])
    assert alarms("cluster", "check", "--from", str(tmp_path)) == (0, [])
