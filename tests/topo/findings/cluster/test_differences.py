# SPDX-License-Identifier: Apache-2.0
"""One odd node of five: what is odd is told, by its majority, and nothing else."""

import functools
from dataclasses import replace

import pytest
from tests.topo.findings.cluster.fleets import changed, read, usual, without, write

from railgauge.topo.findings.cluster.comparison import compare
from railgauge.topo.findings.cluster.findings import findings
from railgauge.topo.findings.cluster.folder import read_files
from railgauge.topo.findings.cluster.words import difference_text

NVML, SYSFS = "facts.nvml", "/sys/bus/pci/devices"
MLX5_3 = "0000:40:00.0"
KINDS = {
    "a NIC's width": (f'[files]\n"{SYSFS}/{MLX5_3}/current_link_width" = "8"', f"NIC mlx5_3 ({MLX5_3}): x8", "x16"),
    "a NIC's speed": (
        f'[files]\n"{SYSFS}/{MLX5_3}/current_link_speed" = "16.0 GT/s PCIe"',
        f"NIC mlx5_3 ({MLX5_3}): 16 GT/s",
        "32 GT/s",
    ),
    "a NIC's firmware": (
        '[files]\n"/sys/class/infiniband/mlx5_3/fw_ver" = "28.40.1000"',
        f"NIC mlx5_3 ({MLX5_3}): firmware 28.40.1000",
        "28.39.1002",
    ),
    "a NIC's model": (
        f'[files]\n"{SYSFS}/{MLX5_3}/device" = "0x101b"',
        f"NIC mlx5_3 ({MLX5_3}): device id 15b3:101b:15b3:0041",
        "15b3:1021:15b3:0041",
    ),
    "a GPU's model": (
        f'[{NVML}]\ngpus.0.name = "NVIDIA H200"',
        "GPU0 (0000:1b:00.0): model NVIDIA H200",
        "NVIDIA H100 80GB HBM3",
    ),
    "a GPU's VBIOS": (
        f'[{NVML}]\ngpus.0.vbios = "96.00.30.00.01"',
        "GPU0 (0000:1b:00.0): VBIOS 96.00.30.00.01",
        "96.00.89.00.01",
    ),
    "an NVLink": (f"[{NVML}]\ngpus.2.links.5.state = 0", "GPU2 (0000:52:00.0): 17 NVLinks", "18"),
    "the driver": (
        '[files]\n"/proc/driver/nvidia/version" = '
        '"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build"',
        "driver 550.54.15",
        "550.90.07",
    ),
    "CUDA": (f"[{NVML}]\ncuda = 12020", "CUDA 12.2", "12.4"),
    "the kernel": (
        '[files]\n"/proc/sys/kernel/osrelease" = "5.15.0-1050-nvidia"',
        "kernel 5.15.0-1050-nvidia",
        "5.15.0-1042-nvidia",
    ),
    "a NUMA node's cores": (
        '[files]\n"/sys/devices/system/node/node0/cpulist" = "0-54,112-167"',
        "NUMA0: cores 0-54,112-167",
        "0-55,112-167",
    ),
    "a setting of the environment": (
        '[facts.settings]\nenvironment.NCCL_DEBUG = "INFO"',
        "NCCL_DEBUG INFO",
        "WARN",
    ),
    "a setting that others lack": (
        '[facts.settings]\nenvironment.NCCL_IB_HCA = "mlx5_0"',
        "NCCL_IB_HCA mlx5_0",
        "not set",
    ),
    "a configuration file": (
        '[files]\n"/etc/nccl.conf" = "NCCL_IB_DISABLE=1\\n#NCCL_P2P_DISABLE=1\\nNCCL_DEBUG=TRACE"',
        "NCCL_IB_DISABLE 1 (in /etc/nccl.conf)",
        "not set",
    ),
    "a port": (
        '[files]\n"/sys/class/infiniband/mlx5_3/ports/1/state" = "1: DOWN"',
        "mlx5_3 port 1: Down",
        "Active",
    ),
    "GPUDirect RDMA's module": (
        '[files]\n"/sys/module/nvidia_peermem" = false',
        "GDR module none",
        "nvidia_peermem",
    ),
}


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    for number in range(1, 5):
        write(folder, f"gpu-{number}", usual())
    return folder


@functools.cache
def nodes_of(folder):
    return tuple(read(folder)[0])


def beside(four, folder, machine):
    """What is told of a node beside four usual ones."""
    write(folder, "gpu-5", machine)
    node = read_files((("gpu-5", str(folder / "gpu-5.tar.gz")),), lambda more: None)[0]
    report = compare([*nodes_of(four), *node])
    assert report.splits == report.warnings == ()
    assert all(one.nodes == ("gpu-5",) for one in report.differences)
    return [difference_text(one) for one in report.differences]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_odd_is_told_with_the_majority_and_nothing_else(four, tmp_path, kind):
    toml, odd, majority = KINDS[kind]
    assert beside(four, tmp_path, changed(toml)) == [f"{odd}, 4 of 5 nodes {majority}"]


def test_another_individual_of_the_same_machine_is_not_odd(four, tmp_path):
    assert beside(four, tmp_path, usual()) == []


def test_a_gpu_that_is_missing_is_told(four, tmp_path):
    told = beside(four, tmp_path, without(usual(), "0000:df:00.0"))
    assert told == ["GPU7 (0000:df:00.0) is missing, 4 of 5 nodes have it"]


def test_a_gpu_that_nvml_does_not_have_is_told_in_words(four, tmp_path):
    lost = usual()
    facts = {**lost.facts, "nvml": {**lost.facts["nvml"], "gpus": lost.facts["nvml"]["gpus"][:-1]}}
    told = beside(four, tmp_path, replace(lost, facts=facts))
    assert told[0] == "GPU7 (0000:df:00.0): not visible to NVML, 4 of 5 nodes visible to NVML"


def test_a_nic_that_is_missing_is_told_and_not_its_port_and_interface_too(four, tmp_path):
    told = beside(four, tmp_path, without(usual(), MLX5_3))
    assert told == [f"NIC mlx5_3 ({MLX5_3}) is missing, 4 of 5 nodes have it"]


def test_what_could_not_be_read_is_unknown_and_not_missing(four, tmp_path):
    machine = changed(f'[files]\n"{SYSFS}/{MLX5_3}/current_link_width" = false')
    assert beside(four, tmp_path, machine) == [f"NIC mlx5_3 ({MLX5_3}): width unknown, 4 of 5 nodes x16"]


def test_a_node_without_settings_recorded_lacks_none(four, tmp_path):
    machine = usual()
    facts = {name: facts for name, facts in machine.facts.items() if name != "settings"}
    assert beside(four, tmp_path, replace(machine, facts=facts)) == []


def levels(four, folder, machine):
    """The levels of the differences of a node beside four usual ones, by what differs."""
    write(folder, "gpu-5", machine)
    node = read_files((("gpu-5", str(folder / "gpu-5.tar.gz")),), lambda more: None)[0]
    return {one.evidence["what"]: str(one.level) for one in findings(compare([*nodes_of(four), *node]))}


def test_what_an_older_capture_lacks_of_all_devices_is_unknown(four, tmp_path):
    older = usual()
    kept = [{name: said for name, said in gpu.items() if name != "p2p"} for gpu in older.facts["nvml"]["gpus"]]
    facts = {"nvml": {**older.facts["nvml"], "gpus": kept}, "settings": older.facts["settings"]}
    assert levels(four, tmp_path, replace(older, facts=facts)) == {
        "GPUDirect RDMA": "UNKNOWN",
        "DMA-BUF": "UNKNOWN",
        "peers with P2P": "UNKNOWN",
    }


def test_what_one_device_alone_does_not_say_is_a_difference_and_so_is_a_driver_that_is_gone(four, tmp_path):
    one = changed(f'[files]\n"{SYSFS}/{MLX5_3}/current_link_width" = false')
    assert levels(four, tmp_path, one) == {"width": "WARN"}
    gone = {**usual().facts, "nvml": {"error": "NVML: not found"}, "cuda": {"error": "CUDA: not found"}}
    texts = {path: text for path, text in usual().texts.items() if path != "/proc/driver/nvidia/version"}
    found = levels(four, tmp_path, replace(usual(), facts=gone, texts=texts))
    assert (found["driver"], found["known to NVML"]) == ("WARN", "WARN")
