# SPDX-License-Identifier: Apache-2.0
"""What a guest is built of, and where each part lands: NUMA nodes with root ports, switches and PCI functions.

Bus numbers are the firmware's: it walks depth first, in the order of slots. Ids and links are those of QEMU's models,
or free for a FakeDevice function, and stand here as sysfs spells them: they are what a scan has to find.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

BRIDGE = "0x060400"
ETHERNET = "0x020000"
FIRST_ROOT_SLOT = 0x10  # on pcie.0: QEMU numbers its own devices from 1 on


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A PCI Express link: GT/s and lanes, now and at most. None: sysfs says "Unknown" and 0 lanes."""

    gt_per_s: float | None = 2.5
    width: int = 1
    max_gt_per_s: float | None = 2.5
    max_width: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Class and ids, as sysfs spells them."""

    pci_class: str
    vendor: str
    device: str
    subsystem_vendor: str = "0x0000"
    subsystem_device: str = "0x0000"


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeDevice:
    """A function that lab/fake_hardware.py answers for."""

    identity: Identity
    link: Link


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """A network interface of QEMU's; `rail` numbers it and the Ethernet segment that it is on."""

    rail: int
    model: str = "virtio-net-pci"
    link: Link = Link()

    @property
    def identity(self) -> Identity:
        """Those of QEMU's models behind a PCI Express port."""
        return NIC_MODELS[self.model]


NIC_MODELS = {
    "virtio-net-pci": Identity(
        pci_class=ETHERNET, vendor="0x1af4", device="0x1041", subsystem_vendor="0x1af4", subsystem_device="0x1100"
    ),
    "e1000e": Identity(pci_class=ETHERNET, vendor="0x8086", device="0x10d3", subsystem_vendor="0x8086"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RootPort:
    """A port of the CPU; its largest link is free, the link itself stays at 2.5 GT/s x1."""

    below: "Part"
    link: Link = Link(max_gt_per_s=16, max_width=16)
    model: str = "pcie-root-port"
    identity: Identity = Identity(pci_class=BRIDGE, vendor="0x1b36", device="0x000c")


@dataclass(frozen=True, slots=True, kw_only=True)
class DownstreamPort:
    """A port of a switch towards a device."""

    below: "Part"
    link: Link = Link(max_gt_per_s=None, max_width=0)
    model: str = "xio3130-downstream"
    identity: Identity = Identity(pci_class=BRIDGE, vendor="0x104c", device="0x8233")


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A PCI Express switch: its upstream port, and a downstream port for each part below."""

    below: tuple["Part", ...]
    link: Link = Link()
    model: str = "x3130-upstream"
    identity: Identity = Identity(pci_class=BRIDGE, vendor="0x104c", device="0x8232")


Part = FakeDevice | Nic | RootPort | DownstreamPort | Switch


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaNode:
    """A socket: one core, its memory, and a PCI root with ports, numbered from `bus` on."""

    bus: int
    ports: tuple[RootPort, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A guest's hardware; `on_root` sits on the chipset's own bus, which belongs to no NUMA node."""

    nodes: tuple[NumaNode, ...]
    on_root: tuple[Nic, ...] = ()
    node_mib: int = 384


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A part where it lands: bus ids from below the host bridge down to its own, its slot, its NUMA node (-1: none)."""

    part: Part
    path: tuple[str, ...]
    slot: int
    numa: int
    upstream: "Placed | None" = field(default=None, repr=False)

    @property
    def bus_id(self) -> str:
        """The bus id in sysfs's spelling."""
        return self.path[-1]


def layout(board: Board) -> Iterator[Placed]:
    """Every PCI function of the board, bridges included, parents before children."""
    for slot, nic in enumerate(board.on_root, FIRST_ROOT_SLOT):
        yield Placed(part=nic, path=(_bus_id(0, slot),), slot=slot, numa=-1)
    for number, node in enumerate(board.nodes):
        walk = _Walk(numa=number, last_bus=node.bus)
        for slot, port in enumerate(node.ports):
            yield from walk.place(port, node.bus, slot, None)


class _Walk:
    """Numbers the buses below one root."""

    def __init__(self, numa: int, last_bus: int) -> None:
        self.numa = numa
        self.last_bus = last_bus

    def place(self, part: Part, bus: int, slot: int, upstream: Placed | None) -> Iterator[Placed]:
        above = upstream.path if upstream else ()
        placed = Placed(part=part, path=(*above, _bus_id(bus, slot)), slot=slot, numa=self.numa, upstream=upstream)
        yield placed
        below = _below(part)
        if below:
            self.last_bus += 1
            secondary = self.last_bus
            for index, child in enumerate(below):
                yield from self.place(child, secondary, index, placed)


def _below(part: Part) -> tuple[Part, ...]:
    match part:
        case RootPort() | DownstreamPort():
            return (part.below,)
        case Switch():
            return tuple(DownstreamPort(below=child) for child in part.below)
        case _:
            return ()


def _bus_id(bus: int, slot: int) -> str:
    return f"0000:{bus:02x}:{slot:02x}.0"
