# SPDX-License-Identifier: Apache-2.0
"""GPUs and NICs of a machine, each with what identifies it on the host and in a VM."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.sources.pci_config import PciConfig
from railgauge.topo.facts.sources.pci_functions import PciFunction
from railgauge.topo.facts.sources.sysfs_pci import NVIDIA
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.ib_plugin import guid_number
from railgauge.topo.values.pci_class import DISPLAY, NETWORK
from railgauge.topo.xml.placed_element import PlacedElement, place
from railgauge.topo.xml.topology import Topology

PASSED = "vfio-pci"  # the kernel's driver of devices passed to VMs
IDS = ("vendor", "device", "subsystem_vendor", "subsystem_device")
NO_GUID, NO_MAC = "0000:0000:0000:0000", "00:00:00:00:00:00"
CARD, SERIAL = "GUID of the card", "serial number"
SMALLEST_GUID = 1 << 32  # a NIC of NCCL's socket transport has its dev number here


@dataclass(frozen=True, slots=True, kw_only=True)
class VmDevice:
    """One GPU or NIC (`kind`). `names` as users know it, `rdma` its RDMA devices.

    ids: its PCI ids, in the order of IDS. marks: (what, value), unique to a function, surest first.
    cards: the same, shared by all functions of a card. place: the function whose place and link it has, the
    physical one of a virtual one. numa: its node, None without one. passed: it is bound to the driver that passes
    devices to VMs.
    """

    kind: str
    bus_id: str
    ids: tuple[str | None, ...]
    place: str
    pci_class: str | None = None
    names: tuple[str, ...] = ()
    rdma: tuple[str, ...] = ()
    marks: tuple[tuple[str, str], ...] = ()
    cards: tuple[tuple[str, str], ...] = ()
    numa: int | None = None
    passed: bool = False

    @property
    def label(self) -> str:
        """GPU4 (0000:9b:00.0), NIC mlx5_3 (0000:3b:00.0), NIC (0000:3b:00.0)."""
        name = self.names[0] if self.names else ""
        return f"{name if self.kind == name[:3] else f'{self.kind} {name}'.strip()} ({self.bus_id})"

    @property
    def model(self) -> str:
        """Vendor and device as in 10de:2330."""
        return ":".join((text or "?").removeprefix("0x") for text in self.ids[:2])


def devices(machine: Machine) -> tuple[VmDevice, ...]:
    """The GPUs and NICs of a machine, in use or not; for a topology file, those in it."""
    if machine.facts is None:
        return tuple(_of_topology(machine.topology))
    return tuple(_of_inventory(machine.facts, machine.facts.pci_config))


def _of_inventory(inventory: MachineFacts, configs: Mapping[str, PciConfig]) -> Iterator[VmDevice]:
    for function in inventory.pci:
        if kind := _kind(function.pci_class, function.vendor):
            yield VmDevice(
                kind=kind,
                bus_id=function.bus_id,
                ids=(function.vendor, function.device, function.subsystem_vendor, function.subsystem_device),
                place=function.physfn or function.bus_id,
                pci_class=function.pci_class,
                names=_names(inventory, function),
                rdma=tuple(one.name for one in inventory.rdma if one.bus_id == function.bus_id),
                marks=_marks(inventory, function),
                cards=_cards(inventory, function, configs.get(function.bus_id)),
                numa=function.numa,
                passed=function.driver == PASSED,
            )


def _kind(pci_class: str | None, vendor: str | None) -> str | None:
    """GPU or NIC; a server's VGA controller is neither."""
    if (pci_class or "").startswith(DISPLAY):
        return "GPU" if vendor in (NVIDIA, None) else None
    return "NIC" if (pci_class or "").startswith(NETWORK) else None


def _names(inventory: MachineFacts, function: PciFunction) -> tuple[str, ...]:
    gpu = inventory.gpu(function.bus_id)
    rdma = [one.name for one in inventory.rdma if one.bus_id == function.bus_id]
    interfaces = [one.name for one in inventory.interfaces if one.bus_id == function.bus_id]
    return (*((f"GPU{gpu.index}",) if gpu else ()), *rdma, *interfaces)


def _marks(inventory: MachineFacts, function: PciFunction) -> tuple[tuple[str, str], ...]:
    gpu = inventory.gpu(function.bus_id)
    rdma = [one for one in inventory.rdma if one.bus_id == function.bus_id]
    macs = [one.mac for one in inventory.interfaces if one.bus_id == function.bus_id]
    found = [("UUID", gpu.uuid if gpu else None)]
    found += [("node GUID", one.node_guid) for one in rdma]
    found += [("port GUID", port.guid) for one in rdma for port in one.ports]
    found += [("MAC", mac) for mac in macs if mac and len(mac) == len(NO_MAC)]  # those of IPoIB are longer, and change
    return tuple((what, value.lower()) for what, value in found if value and value not in (NO_GUID, NO_MAC))


def _cards(inventory: MachineFacts, function: PciFunction, config: PciConfig | None) -> tuple[tuple[str, str], ...]:
    guids = (guid_number(one.sys_image_guid) for one in inventory.rdma if one.bus_id == function.bus_id)
    serial = ((SERIAL, config.serial),) if config and config.serial else ()
    return (*((CARD, f"{guid:#x}") for guid in guids if guid), *serial)


def _of_topology(topology: Topology) -> Iterator[VmDevice]:
    for pci in place(topology.root):
        kind = "GPU" if pci.is_gpu else "NIC" if pci.is_nic else None
        cpu = pci.nearest("cpu")
        if pci.name == "pci" and cpu and kind and pci.get("busid"):
            yield _of_element(pci, kind, cpu.integer("numaid", topology.path, -1))


def _of_element(pci: PlacedElement, kind: str, numa: int) -> VmDevice:
    guids = [net.number("guid") or 0 for net in pci.below("net")]
    gpus = [f"GPU{gpu.get('dev')}" for gpu in pci.below("gpu") if gpu.get("dev")]
    return VmDevice(
        kind=kind,
        bus_id=(pci.get("busid") or "").lower(),
        ids=tuple(pci.get(key) for key in IDS),
        place=(pci.get("busid") or "").lower(),
        pci_class=pci.get("class"),
        names=(*gpus, *(name for net in pci.below("net") if (name := net.get("name")))),
        cards=tuple((CARD, f"{guid:#x}") for guid in guids if guid >= SMALLEST_GUID),
        numa=numa if numa >= 0 else None,
    )
