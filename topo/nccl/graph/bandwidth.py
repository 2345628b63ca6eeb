# SPDX-License-Identifier: Apache-2.0
"""The bandwidth of links in NCCL's model, in GB/s.

Figures from src/graph/topo.h and `kvDictPciGen` of topo.cc, NCCL 2.30; of XGMI from RCCL's topo.h.
"""

from typing import NamedTuple

from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S, Node

# 100 Mb/s a lane by the speed's text; the first key that the text begins or equals decides (see `pci`).
PCI_LANE = (
    ("2.5 GT/s", 15),
    ("5 GT/s", 30),
    ("8 GT/s", 60),
    ("16 GT/s", 120),
    ("32 GT/s", 240),
    ("5.0 GT/s PCIe", 30),
    ("8.0 GT/s PCIe", 60),
    ("16.0 GT/s PCIe", 120),
    ("32.0 GT/s PCIe", 240),
    ("64.0 GT/s PCIe", 480),
)
PCI_LANE_UNKNOWN = 60  # Gen3
PCI_LANES_UNKNOWN = 16
NET_UNKNOWN_MBPS = 10_000  # a NIC whose speed is unreadable, 0 or -1 (virtio)
NVLINK = ((100, 40.1), (90, 20.6), (87, 20.0), (86, 12.0), (70, 20.0), (60, 18.0))  # GB/s a link from that sm on
NVLINK_OLDER = 20.0
XGMI = (("gfx95", 48.0), ("gfx94", 48.0), ("gfx90a", 36.0))  # GB/s a link: RCCL's topo.h, MI350, MI300, MI200
XGMI_OLDER = 24.0
INTEL = ((0xCF, 40.0), (0x8F, 22.0), (0x55, 10.0))  # QPI or UPI between two sockets by model, family 6
INTEL_OLDER = 6.0
AMD = 16.0
ARM = 6.0
POWER9 = 32.0
ZHAOXIN = 6.0
ZHAOXIN_YONGFENG = 9.0
ZHAOXIN_VENDORS = ("CentaurHauls", "  Shanghai  ")


def pci(speed: str, lanes: int) -> float:
    """A PCI link by sysfs's text of its speed and its lanes; 0 lanes count as 16, an unknown speed as Gen3."""
    known = (value for key, value in PCI_LANE if speed.startswith(key))
    return (lanes or PCI_LANES_UNKNOWN) * next(known, PCI_LANE_UNKNOWN) / 80


def nvlink(sm: int) -> float:
    """One NVLink of a GPU of that compute capability (`ncclTopoNVLinkBw`)."""
    return next((speed for least, speed in NVLINK if sm >= least), NVLINK_OLDER)


def xgmi(gfx: str) -> float:
    """One XGMI link of a GPU of that architecture (RCCL's `ncclTopoXGMISpeed`)."""
    return next((speed for name, speed in XGMI if gfx.startswith(name)), XGMI_OLDER)


class LinkOfGpu(NamedTuple):
    """What joins GPUs: its name in the plural, and GB/s of one."""

    name: str
    gb_per_s: float


def link_of_gpu(sm: int, gfx: str | None = None) -> LinkOfGpu:
    """NVLinks by compute capability, or of an AMD GPU XGMI links by its architecture (RCCL's src/graph/topo.h)."""
    return LinkOfGpu("XGMI links", xgmi(gfx)) if gfx else LinkOfGpu("NVLinks", nvlink(sm))


def nvlink_count(card: Node, gb_per_s: float) -> int:
    """How many NVLinks, or XGMI links, of a card give this bandwidth."""
    return round(gb_per_s / link_of_gpu(card.sm or 0, card.gfx).gb_per_s)


def between_cpus(arch: str | None, vendor: str | None, family: int, model: int) -> float:
    """The link between two CPUs of a host (`ncclTopoGetInterCpuBw`)."""
    if arch == "ppc64":
        return POWER9
    if arch == "arm64":
        return ARM
    if arch != "x86_64":
        return LOCAL_GB_PER_S
    if vendor == "GenuineIntel":
        return next((speed for least, speed in INTEL if family == 6 and model >= least), INTEL_OLDER)
    if vendor == "AuthenticAMD":
        return AMD
    if vendor in ZHAOXIN_VENDORS:
        return ZHAOXIN_YONGFENG if (family, model) == (7, 0x5B) else ZHAOXIN
    return LOCAL_GB_PER_S


def cpu_wire(cpu: Node) -> float:
    """As `between_cpus`, by one of the CPU nodes."""
    return between_cpus(cpu.arch, cpu.vendor, *cpu.family_and_model)


def net(mbps: int) -> float:
    """A network port; NICs that report 0 or -1 count as 10 Gb/s."""
    return (mbps if mbps > 0 else NET_UNKNOWN_MBPS) / 8000
