# SPDX-License-Identifier: Apache-2.0
"""A bandwidth with its origin in words: "32.0 GT/s x16", "18 x 20.6 GB/s NVLinks of sm 90".

The arithmetic is bandwidth.py's.
"""

from dataclasses import dataclass, replace

from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.nccl.graph.cpu_family import kernel_family
from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S, Node

UNLIMITED_CPUS = "NCCL has no figure for these CPUs"


@dataclass(frozen=True, slots=True)
class Figure:
    """GB/s, its origin, and whether it is assumed because the machine does not report it.

    `count` equal links make the figure; 0 if it is not made of links. `now`: what the link runs at, where less.
    """

    gb_per_s: float
    each: str = ""
    assumed: bool = False
    count: int = 0
    now: "Figure | None" = None

    @property
    def origin(self) -> str:
        """The origin of the figure, in words."""
        return f"{self.count} x {self.each}" if self.count else self.each

    def plus(self, other: "Figure") -> "Figure":
        """Both together, as NCCL adds up links between the same ends."""
        total, assumed = self.gb_per_s + other.gb_per_s, self.assumed or other.assumed
        now = (self.now or self).plus(other.now or other) if self.now or other.now else None
        if self.count and self.each == other.each:
            return Figure(total, self.each, assumed, self.count + other.count, now)
        return Figure(total, " + ".join(part for part in (self.origin, other.origin) if part), assumed, now=now)


UNLIMITED = Figure(LOCAL_GB_PER_S)


def pci(speed: str, lanes: int) -> Figure:
    """A PCI link; an unknown speed counts as Gen3, an unknown width as 16 lanes, and is marked."""
    known = any(speed.startswith(key) for key, _ in bandwidth.PCI_LANE)
    rate = speed.removesuffix(" PCIe") if known else f"speed {speed!r} assumed 8 GT/s,"
    width = f"x{lanes}" if lanes else f"width unknown, assumed x{bandwidth.PCI_LANES_UNKNOWN}"
    return Figure(bandwidth.pci(speed, lanes), f"{rate} {width}", assumed=not (known and lanes))


def running(planned: Figure, now: Figure) -> Figure:
    """A planned link that runs at `now`, if that is less."""
    return replace(planned, now=now) if now.gb_per_s < planned.gb_per_s else planned


def nvlinks(count: int, sm: int) -> Figure:
    """The NVLinks of a GPU to one peer."""
    each = bandwidth.nvlink(sm)
    return Figure(count * each, f"{each:g} GB/s NVLinks of sm {sm}", count=count)


def xgmi(count: int, gfx: str) -> Figure:
    """XGMI links of a GPU of that architecture, as RCCL has them."""
    each = bandwidth.xgmi(gfx)
    return Figure(count * each, f"{each:g} GB/s XGMI links of {gfx}", count=count)


def c2c(count: int, mb_per_s: int) -> Figure:
    """The chip-to-chip links between a GPU and its CPU."""
    return Figure(count * mb_per_s / 1000, f"{mb_per_s / 1000:g} GB/s chip-to-chip links", count=count)


def net(mbps: int) -> Figure:
    """A network port."""
    rate = f"{(mbps if mbps > 0 else bandwidth.NET_UNKNOWN_MBPS) / 1000:g} Gb/s / 8"
    return Figure(bandwidth.net(mbps), rate if mbps > 0 else f"speed unknown, assumed {rate}", mbps <= 0)


def between_cpus(cpu: Node) -> Figure:
    """The link between two CPUs of a host, by one of them."""
    speed = bandwidth.cpu_wire(cpu)
    if speed == LOCAL_GB_PER_S:
        return Figure(speed, UNLIMITED_CPUS, assumed=True)
    return Figure(speed, f"{_cpu_name(cpu)}: {speed:g} GB/s between sockets")


def _cpu_name(cpu: Node) -> str:
    if cpu.arch != "x86_64":
        return {"ppc64": "POWER9", "arm64": "Arm"}.get(cpu.arch or "", "unknown CPU")
    family, model = cpu.family_and_model
    vendor = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}.get(cpu.vendor or "", "Zhaoxin")
    return f"{vendor} family {kernel_family(family)} model {model}"
