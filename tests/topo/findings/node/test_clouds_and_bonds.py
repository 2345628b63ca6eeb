# SPDX-License-Identifier: Apache-2.0
"""Machines of clouds (EFA, virtual functions), RoCE bonds, a DGX B200: no finding from WARN on while healthy, and
with each fault by itself the right id, device, price and status.
"""

import json
from pathlib import Path

import pytest
from tests.cli.command import in_process

MACHINES = Path(__file__).parent / "machines"
PCI, RDMA, NET = "/sys/bus/pci/devices", "/sys/class/infiniband", "/sys/class/net"
HEALTHY = ("p5", "b200", "ndv4", "bond")
LOST = "[facts.nvml]\ngpus.3 = false\n"
ON_B200 = f'"{PCI}/0000:5d:00.0/driver"'
LEG_DOWN = f'[files]\n"{NET}/enp152s0f1np1/operstate" = "down"\n'


def other_driver(name):
    seen = f'"/sys/bus/pci/drivers/{name}/module/version" = "1"'
    return f'[files]\n{seen}\n{ON_B200} = {{ link = "/sys/bus/pci/drivers/{name}" }}\n{LOST}'


NO_PLUGIN = "no price: NCCL uses such RDMA devices (EFA) through a network plugin, which is not modelled"
FAULTS = {
    "a lost GPU beside EFA": ("p5", LOST, "gpu-lost", "0000:73:00.0", NO_PLUGIN),
    "an EFA device at x8": (
        "p5",
        f'[files]\n"{PCI}/0000:14:00.0/current_link_width" = "8"\n',
        "pcie-link-degraded",
        "0000:14:00.0",
        NO_PLUGIN,
    ),
    "an EFA device without its port": (
        "p5",
        f'[files]\n"{RDMA}/rdmap20s0/ports/1/state" = "1: DOWN"\n',
        "ib-port-down",
        "rdmap20s0:1",
        NO_PLUGIN,
    ),
    "an EFA device without its driver's part": (
        "p5",
        f'[files]\n"{RDMA}/rdmap20s0" = false\n',
        "nic-lost",
        "14:00.0",
        "",
    ),
    "a GPU given to VMs": ("b200", other_driver("vfio-pci"), "gpu-lost", "vfio-pci runs it, not nvidia", "(-13 %)"),
    "a GPU with the wrong driver": ("b200", other_driver("nouveau"), "gpu-lost", "nouveau runs it", "(-13 %)"),
    "a GPU of another model": (
        "b200",
        '[facts.nvml]\ngpus.3.name = "NVIDIA H100 80GB HBM3"\ngpus.3.cc = [9, 0]\n',
        "devices-differ",
        "GPU3 (0000:5d:00.0): model NVIDIA H100 80GB HBM3, 7 of 8 have NVIDIA B200",
        "",
    ),
    "a port of a B200": (
        "b200",
        f'[files]\n"{RDMA}/mlx5_3/ports/1/state" = "1: DOWN"\n',
        "ib-port-down",
        "mlx5_3:1",
        "(-12 %)",
    ),
    "a GPU of a VM with domains": ("ndv4", LOST, "gpu-lost", "0004:00:00.0", "under 1 %"),
    "a GPU that the VM was not given": (
        "ndv4",
        f'[files]\n"{PCI}/0004:00:00.0" = false\n{LOST}',
        "gpu-lost",
        "Azure ND A100 v4 has 8 GPUs",
        "no price",
    ),
    "a slow virtual function": (
        "ndv4",
        f'[files]\n"{RDMA}/mlx5_ib3/ports/1/rate" = "100 Gb/sec (2X HDR)"\n',
        "ib-rate-low",
        "mlx5_ib3:1",
        "under 1 %",
    ),
    "a leg of a bond": (
        "bond",
        LEG_DOWN,
        "ib-rate-low",
        "1 of the 2 legs of its bond are up, not enp152s0f1np1",
        "no price",
    ),
    "a leg of a bond whose rate says so": (
        "bond",
        f'{LEG_DOWN}"{RDMA}/mlx5_bond_1/ports/1/rate" = "100 Gb/sec (4X EDR)"\n',
        "ib-rate-low",
        "mlx5_bond_1:1",
        "under 1 %",
    ),
}


def alarms(path):
    done = in_process("check", "--from", str(path), "--json")
    found = json.loads(done.stdout)["findings"]
    return done.returncode, [one for one in found if one["level"] in ("FAIL", "WARN")]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_one_ends_with_0_in_every_command(name):
    path = MACHINES / f"{name}.toml"
    assert alarms(path) == (0, [])
    assert in_process("gdr", "check", "-q", "--from", str(path)).returncode == 0


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_and_priced(fault, tmp_path):
    name, change, identifier, words, price = FAULTS[fault]
    path = tmp_path / "machine.toml"
    path.write_text(f'base = "{MACHINES}/{name}.toml"\n{change}')
    status, (first, *others) = alarms(path)
    assert (status, first["id"], others) == (1, identifier, [])
    assert words in f"{first['subject']}: {first['message']}"
    assert price in first["effect"]


def test_acs_of_the_ports_that_a_hypervisor_shows_is_no_finding(tmp_path):
    path = tmp_path / "machine.toml"
    port = "functions.'0000:{}:{:02x}.0' = {{ size = 4096, port = 6, acs = 29 }}\n"
    ports = "".join(port.format(f"{bus + 2:02x}", n) for bus in (0x10, 0x30, 0x90) for n in range(5))
    path.write_text(f'base = "{MACHINES}/p5.toml"\n[facts.pci_config]\n{ports}')
    assert alarms(path) == (0, [])
    said = in_process("check", "--from", str(path), "--only", "acs-enabled").stdout
    assert "UNKNOWN acs-enabled: switches are not visible in a VM: check on the host" in said


def test_gdr_check_does_not_judge_a_plugin():
    done = in_process("gdr", "check", "--from", str(MACHINES / "p5.toml"))
    assert "UNKNOWN gpu-direct-rdma: NCCL uses such RDMA devices (EFA) through a network plugin" in done.stdout


def test_ports_that_nccl_does_not_use_stand_together_by_reason():
    done = in_process("check", "--from", str(MACHINES / "p5.toml"))
    assert done.stderr.count("(link layer is Unspecified)") == 1
