# SPDX-License-Identifier: Apache-2.0
"""For each rule a machine that has its fault, one that has not, and one that does not tell; more in health_rows.py."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from tests.topo.findings.node.cases import IB, NET, PCI, case, file_case
from tests.topo.findings.topology_file.topology_text import HEALTHY

from railgauge.topo.expect.expectations import given
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.node.baseline import Baseline, SinceBaseline
from railgauge.topo.findings.node.peers import gpus
from railgauge.topo.machine import Machine

DGX, ROCE, TRAY, PAIR = "dgx-h100", "hgx-h100-8nic", "gb200-tray", "consumer-2x5090"
PORT = f"{IB}/mlx5_0/ports/1"
NO_PCI = {PCI: None, "/sys/devices/pci0000:15": None}
NO_NVML = {"nvml": {"error": "NVML: gone"}}
NIC, GPU, GROUPS = "0000:18:00.0", "0000:1b:00.0", "/sys/kernel/iommu_groups"
LO = {"name": "lo", "index": 1, "flags": 0x49, "addresses": ["127.0.0.1"], "prefix": 8}
BRIDGE = {"name": "br-4f1d", "index": 1, "flags": 0x1043, "addresses": ["172.18.0.1"], "prefix": 16}
ETH0 = {"name": "eth0", "index": 2, "flags": 0x1043, "addresses": ["10.0.0.5"], "prefix": 24}
ETH1 = {"name": "eth1", "index": 3, "flags": 0x1043, "addresses": ["10.0.0.6"], "prefix": 24}
UP = {f"{NET}/eth{n}/mtu": "1500" for n in (0, 1)}
FILTERS = "/proc/sys/net/ipv4/conf"
MB = 1_000_000


def without_pci(name):
    """A machine that shows no PCI device, as sandboxes do."""
    roots = {path for path in case(name).reader._texts if path.startswith("/sys/devices/pci")}
    return case(name, files={PCI: None, **{f"/sys/devices/{path.split('/')[3]}": None for path in roots}})


def named_file(text):
    return case(DGX, files={"/etc/topo.xml": text}, settings={"NCCL_TOPO_FILE": "/etc/topo.xml"})


def configs(**answer):
    devices = [one.bus_id for one in case(ROCE).facts.pci]
    return case(ROCE, facts={"pci_config": {"functions": {one: {"size": 4096, **answer} for one in devices}}})


def without_driver(functions, name=DGX):
    """A machine without the libraries of NVIDIA's driver, and without a driver of these functions."""
    absent = {library: {"error": f"{library}: not found"} for library in ("nvml", "cuda")}
    return case(name, files={f"{PCI}/{one.bus_id}/driver": None for one in functions}, facts=absent)


def groups(kind):
    files = {f"{GROUPS}/0/type": kind} | {f"{GROUPS}/0/devices/{one}": "" for one in (NIC, GPU)}
    return case(DGX, files=files)


def process(**answers):
    return case(DGX, facts={"process": {"memlock_bytes": [-1, -1], "open_files": [65536, 65536], **answers}})


def memory(free, *segments):
    told = {"size_bytes": 8000 * MB, "free_bytes": free, "segments": list(segments)}
    return case(PAIR, facts={"shared_memory": told})


def fabric(state):
    ready = {f"nvml.gpus.{n}.fabric": {"state": 3, "status": 0, "clique": 0} for n in range(8)}
    return case(DGX, facts=ready | {"nvml.gpus.2.fabric.state": state})


def governor(name):
    folder = "/sys/devices/system/cpu/cpufreq/policy0"
    return case(DGX, files={f"{folder}/scaling_governor": name, f"{folder}/scaling_driver": "acpi-cpufreq"})


def counters(symbol_error):
    return case(ROCE, files={f"{IB}/mlx5_{n}/ports/1/counters/symbol_error": symbol_error for n in range(8)})


def interfaces(*told, settings=None, files=None):
    return case("laptop", facts={"interfaces": {"interfaces": list(told)}}, settings=settings, files=files or {})


def expecting(text):
    """A machine of no known model, and what is expected of it."""
    return replace(case("pcie-switch"), expected=given([text]))


def mtu(active):
    ports = [{"name": f"mlx5_{n}", "ports": [{"number": 1, "active_mtu": 5 if n else active}]} for n in range(8)]
    return case(ROCE, files={f"{NET}/gpu{n}rail/mtu": "9000" for n in range(8)}, facts={"verbs": {"devices": ports}})


def set_to(**settings):
    return case(DGX, settings=settings)


def filters(eth0):
    files = UP | {f"{FILTERS}/all/rp_filter": "0", f"{FILTERS}/eth0/rp_filter": eth0, f"{FILTERS}/eth1/rp_filter": "2"}
    return interfaces(ETH0, ETH1, files=files)


def local_ports(text):
    files = {"/sys/module/kernel/parameters/panic": "0", "/proc/sys/net/ipv4/ip_local_port_range": text}
    return case("laptop", files=files)


def since(then, now="dgx-h100"):
    """A machine beside its baseline: another machine, or findings alone."""
    return SinceBaseline(machine=case(now), baseline=Baseline(name="then", host="node", findings=(), machine=then))


Made = Callable[[], Machine | SinceBaseline]


class Row(NamedTuple):
    """The level of its fault, the machine that has it, one that has not, and one that does not tell."""

    level: Level
    faulty: Made
    healthy: Made
    blind: Made


ROWS = {
    "topo-file-stale": Row(Level.FAIL, lambda: named_file(HEALTHY), lambda: set_to(), lambda: case(DGX)),
    "topo-file-faulty": Row(Level.FAIL, lambda: named_file("<no/>"), lambda: set_to(), lambda: case(DGX)),
    "vm-flat-topology": Row(Level.WARN, lambda: case("vm-flat"), lambda: case(DGX), lambda: without_pci("vm-flat")),
    "affinity-mask-wrong": Row(
        Level.WARN,
        lambda: file_case(HEALTHY.replace("ffff0000", "0000ffff", 1)),
        lambda: file_case(HEALTHY),
        lambda: case(DGX, files={"/sys/devices/system/node": None}),
    ),
    "pcie-bridge-bogus": Row(
        Level.FAIL,
        lambda: case(
            DGX,
            files={
                f"{PCI}/0000:16:00.0/max_link_speed": "2.5 GT/s PCIe",
                f"{PCI}/0000:16:00.0/max_link_width": "1",
            },
        ),
        lambda: case(DGX),
        lambda: without_pci(DGX),
    ),
    "pcie-link-degraded": Row(
        Level.FAIL,
        lambda: case(DGX, files={f"{PCI}/{NIC}/current_link_width": "4"}),
        lambda: case(DGX),
        lambda: without_pci(DGX),
    ),
    "acs-enabled": Row(
        Level.WARN, lambda: configs(port=6, acs=0x1D), lambda: configs(port=6, acs=0), lambda: case(ROCE)
    ),
    "iommu-translating": Row(Level.WARN, lambda: groups("DMA-FQ"), lambda: groups("identity"), lambda: case(DGX)),
    "relaxed-ordering-off": Row(
        Level.WARN, lambda: configs(relaxed_ordering=0), lambda: configs(relaxed_ordering=1), lambda: case(ROCE)
    ),
    "nvlink-self-target": Row(
        Level.FAIL,
        lambda: file_case(HEALTHY.replace("0000:81:00.0", "0000:11:00.0", 1)),
        lambda: file_case(HEALTHY),
        lambda: case(DGX, facts=NO_NVML),
    ),
    "nvlink-missing": Row(
        Level.WARN,
        lambda: case(DGX, facts={f"nvml.gpus.5.links.{n}.state": 0 for n in (3, 4)}),
        lambda: case(DGX),
        lambda: case(DGX, facts=NO_NVML),
    ),
    "fabric-not-ready": Row(Level.FAIL, lambda: fabric(2), lambda: fabric(3), lambda: case(DGX)),
    "imex-missing": Row(
        Level.WARN,
        lambda: case(TRAY, files={"/proc/devices": "195 nvidia"}),
        lambda: case(TRAY, files={"/dev/nvidia-caps-imex-channels/channel0": "", "/proc/devices": "x"}),
        lambda: case(TRAY),
    ),
    "driver-mismatch": Row(
        Level.FAIL,
        lambda: case(DGX, facts={"nvml.driver": "470.1.2"}),
        lambda: case(DGX),
        lambda: case(DGX, files={"/proc/driver/nvidia/version": None, "/sys/module/nvidia/version": None}),
    ),
    "gpu-driver-missing": Row(
        Level.FAIL,
        lambda: without_driver(gpus(case(DGX))),
        lambda: without_driver([]),
        lambda: without_driver(case(DGX).facts.pci),
    ),
    "gpu-driver-fails": Row(
        Level.FAIL,
        lambda: case(DGX, facts={"nvml": {"error": "NVML did not answer within 20 s in nvmlInit"}}),
        lambda: case(DGX),
        lambda: case(DGX, facts=NO_NVML | {"gpu_nodes": {"nodes": {"nvidia0": 0}}}),
    ),
    "gpu-lost": Row(Level.FAIL, lambda: case("dgx-h100-gpu-lost"), lambda: case(DGX), lambda: case(DGX, facts=NO_NVML)),
    "duplicate-gpu": Row(
        Level.FAIL,
        lambda: case(DGX, facts={"nvml.gpus.5.uuid": case(DGX).facts.gpus[0].uuid}),
        lambda: case(DGX),
        lambda: case(DGX, facts=NO_NVML),
    ),
    "duplicate-nic": Row(
        Level.WARN,
        lambda: case(DGX, files={f"{IB}/mlx5_{n}/node_guid": "946d:ae03:0090:7832" for n in (0, 4)}),
        lambda: case(DGX),
        lambda: case(DGX, files={f"{IB}/mlx5_0/node_guid": None}),
    ),
    "mig-enabled": Row(
        Level.WARN, lambda: case(DGX, facts={"nvml.gpus.3.mig": 1}), lambda: case(DGX), lambda: case(DGX, facts=NO_NVML)
    ),
    "p2p-unsupported": Row(
        Level.WARN,
        lambda: case(DGX, facts={"nvml.gpus.0.p2p.1": [4, 4]}),
        lambda: case(DGX),
        lambda: case(DGX, facts=NO_NVML),
    ),
    "gpu-nic-far": Row(
        Level.WARN,
        lambda: case(DGX, files={f"{IB}/mlx5_3": None}),
        lambda: case(DGX),
        lambda: case(DGX, facts=NO_NVML | {"cuda": None}),
    ),
    "numa-misbound": Row(
        Level.WARN,
        lambda: case(DGX, facts={"affinity.cpus": list(range(56))}),
        lambda: case(DGX),
        lambda: case(DGX, facts={"affinity": None}),
    ),
    "numa-node-missing": Row(
        Level.WARN,
        lambda: case("pcie-no-numa"),
        lambda: case("pcie-no-switch"),
        lambda: without_pci("pcie-no-numa"),
    ),
    "devices-differ": Row(
        Level.WARN,
        lambda: case(DGX, files={f"{IB}/mlx5_4/fw_ver": "28.30.1000"}),
        lambda: case(DGX, facts={f"nvml.gpus.{index}.vbios": "96.00" for index in range(8)}),
        lambda: case(DGX),
    ),
    "cpu-governor": Row(Level.WARN, lambda: governor("powersave"), lambda: governor("performance"), lambda: case(DGX)),
    "ib-port-down": Row(
        Level.FAIL,
        lambda: case(ROCE, files={f"{PORT}/state": "1: DOWN"}),
        lambda: case(ROCE),
        lambda: case(ROCE, files={f"{PORT}/state": None}),
    ),
    "host-id-collision": Row(
        Level.WARN,
        lambda: case(
            "laptop", files={"/proc/sys/kernel/random/boot_id": None, "/proc/sys/kernel/hostname": "localhost"}
        ),
        lambda: case("laptop"),
        lambda: case("laptop", files={"/proc/sys/kernel/random/boot_id": None, "/proc/sys/kernel/hostname": None}),
    ),
    "ib-rate-low": Row(
        Level.WARN,
        lambda: case(ROCE, files={f"{PORT}/rate": "100 Gb/sec (4X EDR)"}),
        lambda: case(ROCE),
        lambda: case(ROCE, files={f"{PORT}/rate": None}),
    ),
    "ib-errors-rising": Row(Level.INFO, lambda: counters("7"), lambda: counters("0"), lambda: case(ROCE)),
    "mtu-mismatch": Row(Level.WARN, lambda: mtu(3), lambda: mtu(5), lambda: case(ROCE, facts={"verbs": None})),
    "soft-rdma-present": Row(
        Level.INFO,
        lambda: case("odd-nics"),
        lambda: case(DGX),
        lambda: Machine(topology=case(DGX).topology),
    ),
    "nic-lost": Row(
        Level.FAIL, lambda: case(DGX, files={f"{IB}/mlx5_3": None}), lambda: case(DGX), lambda: without_pci(DGX)
    ),
    "verbs-device-missing": Row(
        Level.FAIL,
        lambda: case(ROCE, files={"/dev/null": ""}, facts={"verbs": {"devices": []}}),
        lambda: case(ROCE),
        lambda: case(ROCE, facts={"verbs": None}),
    ),
    "verbs-provider-missing": Row(
        Level.WARN,
        lambda: case(ROCE, facts={"verbs": {"devices": [{"name": f"mlx5_{n}"} for n in range(7)]}}),
        lambda: case(ROCE),
        lambda: case(ROCE, facts={"verbs": None}),
    ),
    "gid-index-invalid": Row(
        Level.FAIL,
        lambda: case(ROCE, settings={"NCCL_IB_GID_INDEX": "9"}),
        lambda: case(ROCE, settings={"NCCL_IB_GID_INDEX": "3"}),
        lambda: case(ROCE),
    ),
    "gid-table-holes": Row(
        Level.WARN,
        lambda: case("hgx-h100-gid-holes"),
        lambda: case(ROCE),
        lambda: case(ROCE, files={f"{PORT}/gids": None}),
    ),
    "peermem-missing": Row(
        Level.FAIL,
        lambda: case("dgx-a100-no-peermem"),
        lambda: case("dgx-a100"),
        lambda: case(
            "dgx-a100-no-peermem", facts={"cuda": None, "verbs": None}, files={"/proc/driver/nvidia/version": None}
        ),
    ),
    "dmabuf-unsupported": Row(
        Level.FAIL,
        lambda: case("dgx-a100-no-peermem"),
        lambda: case(ROCE),
        lambda: case(
            "dgx-a100-no-peermem", facts={"cuda": None, "verbs": None}, files={"/proc/driver/nvidia/version": None}
        ),
    ),
    "ib-hca-prefix": Row(
        Level.WARN, lambda: set_to(NCCL_IB_HCA="mlx5_1"), lambda: set_to(NCCL_IB_HCA="mlx5"), lambda: case(DGX)
    ),
    "ib-hca-nomatch": Row(
        Level.FAIL, lambda: set_to(NCCL_IB_HCA="rocep1s0"), lambda: set_to(NCCL_IB_HCA="mlx5"), lambda: case(DGX)
    ),
    "socket-ifname-virtual": Row(
        Level.FAIL,
        lambda: interfaces(BRIDGE, ETH0, settings={}, files=UP),
        lambda: interfaces(LO, ETH0, settings={}, files=UP),
        lambda: case("laptop", facts={"interfaces": {"error": "forbidden"}}),
    ),
    "socket-ifname-nomatch": Row(
        Level.FAIL,
        lambda: interfaces(LO, ETH0, settings={"NCCL_SOCKET_IFNAME": "bond0"}),
        lambda: interfaces(LO, ETH0, settings={"NCCL_SOCKET_IFNAME": "eth"}),
        lambda: interfaces(LO, ETH0),
    ),
    "rail-unreachable": Row(
        Level.WARN,
        lambda: case(ROCE, files={f"{PORT}/gids/{index}": None for index in (2, 3)}),
        lambda: case(ROCE),
        lambda: case(ROCE, files={f"{PORT}/gids": None}),
    ),
    "rp-filter-strict": Row(
        Level.WARN, lambda: filters("1"), lambda: filters("2"), lambda: interfaces(ETH0, ETH1, files=UP)
    ),
    "ports-blocked": Row(
        Level.WARN, lambda: local_ports("50000\t50099"), lambda: local_ports("32768\t60999"), lambda: case("laptop")
    ),
    "shm-too-small": Row(Level.WARN, lambda: memory(20 * MB), lambda: memory(8000 * MB), lambda: case(PAIR)),
    "shm-leftovers": Row(
        Level.WARN,
        lambda: memory(MB, {"name": "nccl-aBcDeF", "size_bytes": 3000 * MB, "age_s": 3600, "held": 0}),
        lambda: memory(MB),
        lambda: case(PAIR),
    ),
    "memlock-low": Row(Level.FAIL, lambda: process(memlock_bytes=[65536, 65536]), lambda: process(), lambda: case(DGX)),
    "nofile-low": Row(Level.WARN, lambda: process(open_files=[1024, 1024]), lambda: process(), lambda: case(DGX)),
    "numa-syscalls-blocked": Row(
        Level.WARN,
        lambda: process(numa_error="Operation not permitted", seccomp=2),
        lambda: process(numa_error=""),
        lambda: case(DGX),
    ),
    "conf-file-forgotten": Row(
        Level.WARN,
        lambda: case(DGX, files={"/etc/nccl.conf": "NCCL_P2P_DISABLE=1"}, settings={}),
        lambda: set_to(NCCL_P2P_DISABLE="1"),
        lambda: case(DGX),
    ),
    "nccl-setting-ignored": Row(
        Level.WARN, lambda: set_to(NCCL_PROTOS="2"), lambda: set_to(NCCL_PROTO="Simple"), lambda: case(DGX)
    ),
    "nccl-setting-invalid": Row(
        Level.WARN, lambda: set_to(NCCL_IB_TIMEOUT="022"), lambda: set_to(NCCL_IB_TIMEOUT="22"), lambda: case(DGX)
    ),
    "nccl-setting-harmful": Row(
        Level.WARN, lambda: set_to(NCCL_P2P_DISABLE="1"), lambda: set_to(NCCL_P2P_DISABLE="0"), lambda: case(DGX)
    ),
    "expectation-unmet": Row(
        Level.FAIL, lambda: expecting("gpus=9"), lambda: expecting("gpus=8,rate=200"), lambda: expecting("vbios=96")
    ),
    "slower-than-before": Row(
        Level.WARN, lambda: since(case(DGX), "dgx-h100-nic-x8"), lambda: since(case(DGX)), lambda: since(None)
    ),
    "changed-since": Row(
        Level.INFO,
        lambda: since(case(DGX, files={f"{IB}/mlx5_0/fw_ver": "28.43.2026"})),
        lambda: since(case(DGX)),
        lambda: since(file_case(HEALTHY.replace('<cpu numaid="1"', '<cpu numaid="0"', 1))),
    ),
}
