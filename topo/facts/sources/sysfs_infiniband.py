# SPDX-License-Identifier: Apache-2.0
"""RDMA devices from /sys/class/infiniband: the facts of ibstat, ibv_devinfo and show_gids, without libibverbs.

The files are those of the kernel's ABI/stable/sysfs-class-infiniband. What NCCL makes of the devices is ib_plugin.py;
what only libibverbs reports (limits, MTU, DMA-BUF) is verbs.py.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.sysfs_net import CLASS as NET
from railgauge.topo.facts.sources.sysfs_pci import is_placed
from railgauge.topo.values.busid import is_bus_id
from railgauge.topo.values.number import natural, not_negative, whole

CLASS = "/sys/class/infiniband"
NETNS_MODE = "/sys/module/ib_core/parameters/netns_mode"  # Y: all namespaces see all devices
VIRTUAL = "/sys/devices/virtual/"  # where the kernel puts devices that no hardware is behind
CHANNEL_ADAPTER, RNIC = 1, 4  # enum rdma_node_type in rdma/ib_verbs.h
TRANSPORTS = {1: "InfiniBand", 2: "InfiniBand", 3: "InfiniBand", RNIC: "iWARP", 5: "usNIC", 6: "usNIC UDP"}
NODE_PROTOCOLS = {RNIC: "iwarp", 5: "usnic", 6: "usnic", 7: "unspecified"}
RATE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?) Gb/sec(?: \((\d{1,3})X ?(\w*)\))?", re.ASCII)
GID = re.compile(r"[0-9a-f]{4}(:[0-9a-f]{4}){7}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gid:
    """One used entry of a port's GID table: eight groups of hex digits as in sysfs, at its index.

    type is "IB/RoCE v1" or "RoCE v2", netdev the interface it belongs to; None if the kernel does not show it (in
    containers, entries of other network namespaces).
    """

    index: int
    gid: str
    type: str | None = None
    netdev: str | None = None

    @property
    def roce_version(self) -> int | None:
        """1 or 2 for a RoCE port, None if the type is unknown."""
        if self.type is None:
            return None
        return 2 if self.type.startswith("RoCE v2") else 1


class RdmaPort(NamedTuple):
    """One port. Each reading is None when it is absent or unreadable.

    state is ACTIVE, DOWN, INIT, ARMED; physical_state LinkUp, Polling, Disabled, ...; rate the kernel's text
    ("400 Gb/sec (4X NDR)") with rate_gbps in Gb/s, width in lanes and speed by name taken out of it; gid_table_length
    counts used and unused entries; gids are the used ones, empty when they were not asked for. looked: whether its
    state was looked for at all; what was pasted may not say it.
    """

    number: int
    state: str | None = None
    physical_state: str | None = None
    rate: str | None = None
    link_layer: str | None = None
    lid: int | None = None
    lmc: int | None = None
    sm_lid: int | None = None
    cap_mask: int | None = None
    netdev: str | None = None
    gid_table_length: int | None = None
    gids: tuple[Gid, ...] = ()
    looked: bool = True

    @property
    def is_active(self) -> bool:
        """Whether traffic can flow."""
        return self.state == "ACTIVE"

    @property
    def rate_gbps(self) -> float | None:
        """The present rate in Gb/s over all lanes."""
        found = RATE.match(self.rate or "")
        return float(found[1]) if found else None

    @property
    def width(self) -> int | None:
        """Lanes in use."""
        found = RATE.match(self.rate or "")
        return int(found[2]) if found and found[2] else None

    @property
    def speed(self) -> str | None:
        """The name of the lane speed: SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR."""
        found = RATE.match(self.rate or "")
        return found[3] or None if found else None

    @property
    def guid(self) -> str | None:
        """The port's GUID as ibstat prints it: the lower half of GID 0."""
        first = next((gid.gid for gid in self.gids if gid.index == 0), None)
        return first[-19:] if first else None


class RdmaDevice(NamedTuple):
    """One RDMA device. GUIDs as in sysfs, 946d:ae03:0090:7832; each reading is None when absent or unreadable.

    path is the sysfs path of the device behind it, None for Soft-RoCE; bus_id that device's PCI bus id, None when it
    is no PCI function. carrier_bus_id is then the PCI function below its network interface. physfn is the physical
    function of a virtual one. virtual says that it is software over a network interface (Soft-RoCE), no hardware.
    Not placed is a device of a tree without the kernel's links: what is behind it is unknown, rather than missing.
    gone: it is listed, and its folder is no more there.
    """

    name: str
    virtual: bool = False
    placed: bool = True
    gone: bool = False
    path: str | None = None
    bus_id: str | None = None
    carrier_bus_id: str | None = None
    physfn: str | None = None
    numa: int | None = None
    node_type: int | None = None
    node_guid: str | None = None
    sys_image_guid: str | None = None
    firmware: str | None = None
    hw_rev: str | None = None
    hca_type: str | None = None
    board_id: str | None = None
    node_desc: str | None = None
    ports: tuple[RdmaPort, ...] = ()

    @property
    def transport(self) -> str | None:
        """What libibverbs calls its transport: InfiniBand (RoCE too), iWARP, ...; None if unknown."""
        return TRANSPORTS.get(self.node_type or 0)

    @property
    def protocol(self) -> str | None:
        """What all its ports speak: infiniband, roce, iwarp, ...; "mixed" if they differ, None if unknown."""
        spoken = {port_protocol(self, port) for port in self.ports}
        return spoken.pop() if len(spoken) == 1 else "mixed" if spoken else None


def port_protocol(device: RdmaDevice, port: RdmaPort) -> str | None:
    """What a port speaks: infiniband, roce, iwarp, usnic or unspecified (EFA); None if unknown."""
    if device.node_type in NODE_PROTOCOLS:
        return NODE_PROTOCOLS[device.node_type]
    if port.link_layer == "InfiniBand":
        return "infiniband"
    return "roce" if port.link_layer == "Ethernet" and device.node_type == CHANNEL_ADAPTER else None


def read_rdma(reader: Reader, *, gids: bool = True) -> tuple[RdmaDevice, ...]:
    """All RDMA devices by name, mlx5_2 before mlx5_10.

    Without `gids` their tables, which may have 256 entries a port, are not read.
    """
    return tuple(_device(reader, name, gids) for name in sorted(reader.entries(CLASS), key=natural))


def _device(reader: Reader, name: str, gids: bool) -> RdmaDevice:
    folder = f"{CLASS}/{name}"
    path = reader.realpath(f"{folder}/device")
    bus_id = _last(path) if path and is_bus_id(_last(path)) else None
    numbers = sorted(int(entry) for entry in reader.entries(f"{folder}/ports") if whole(entry))
    ports = tuple(_port(reader, name, number, gids) for number in numbers)
    return RdmaDevice(
        name=name,
        virtual=(reader.realpath(folder) or "").startswith(VIRTUAL),
        placed=is_placed(reader, folder),
        gone=reader.realpath(folder) is None and reader.knows(folder),
        path=path,
        bus_id=bus_id,
        carrier_bus_id=None if bus_id else _carrier(reader, name, ports),
        physfn=_physical_function(reader, path),
        numa=not_negative(reader.text(f"{path}/numa_node")) if path else None,
        node_type=whole((reader.text(f"{folder}/node_type") or "").partition(":")[0]),
        node_guid=reader.text(f"{folder}/node_guid"),
        sys_image_guid=reader.text(f"{folder}/sys_image_guid"),
        firmware=reader.text(f"{folder}/fw_ver"),
        hw_rev=reader.text(f"{folder}/hw_rev"),
        hca_type=reader.text(f"{folder}/hca_type"),
        board_id=reader.text(f"{folder}/board_id"),
        node_desc=reader.text(f"{folder}/node_desc"),
        ports=ports,
    )


def _physical_function(reader: Reader, path: str | None) -> str | None:
    physfn = reader.realpath(f"{path}/physfn") if path else None
    return _last(physfn) if physfn else None


def _carrier(reader: Reader, name: str, ports: tuple[RdmaPort, ...]) -> str | None:
    """The PCI function below the interface of a device that is not one; virtio's is one up from virtioN."""
    netdev = reader.text(f"{CLASS}/{name}/parent") or next((port.netdev for port in ports if port.netdev), None)
    path = reader.realpath(f"{NET}/{netdev}/device") if netdev else None
    return next((part for part in reversed((path or "").split("/")) if is_bus_id(part)), None)


def _port(reader: Reader, device: str, number: int, gids: bool) -> RdmaPort:
    folder = f"{CLASS}/{device}/ports/{number}"
    table = tuple(sorted(int(entry) for entry in reader.entries(f"{folder}/gids") if whole(entry) is not None))
    used = tuple(gid for index in table if (gid := _gid(reader, folder, index))) if gids else ()
    return RdmaPort(
        number=number,
        state=_meaning(reader.text(f"{folder}/state")),
        physical_state=_meaning(reader.text(f"{folder}/phys_state")),
        rate=reader.text(f"{folder}/rate"),
        link_layer=reader.text(f"{folder}/link_layer"),
        lid=_integer(reader.text(f"{folder}/lid")),
        lmc=_integer(reader.text(f"{folder}/lid_mask_count")),
        sm_lid=_integer(reader.text(f"{folder}/sm_lid")),
        cap_mask=_integer(reader.text(f"{folder}/cap_mask")),
        netdev=_netdev(reader, device, number, folder),
        gid_table_length=len(table) or None,
        gids=used,
        looked=reader.knows(f"{folder}/state"),
    )


def _gid(reader: Reader, folder: str, index: int) -> Gid | None:
    """One entry of the table; None for an unused one, which is all zeros, and for what is no GID."""
    gid = reader.text(f"{folder}/gids/{index}")
    if gid is None or not gid.strip("0:") or not GID.fullmatch(gid):
        return None
    kind, netdev = (reader.text(f"{folder}/gid_attrs/{what}/{index}") for what in ("types", "ndevs"))
    return Gid(index=index, gid=gid, type=kind, netdev=netdev)


def _netdev(reader: Reader, device: str, number: int, folder: str) -> str | None:
    """The port's interface: that of GID 0, else the one of its PCI function with the port's number."""
    named = reader.text(f"{folder}/gid_attrs/ndevs/0")
    beside = f"{CLASS}/{device}/device/net"
    own = (name for name in reader.entries(beside) if _dev_port(reader, f"{beside}/{name}") == number - 1)
    return named or next(own, None)


def _dev_port(reader: Reader, folder: str) -> int:
    """An interface's port within its function, from 0; mlx4 has it in dev_port, IPoIB of old in dev_id."""
    return _integer(reader.text(f"{folder}/dev_port")) or _integer(reader.text(f"{folder}/dev_id")) or 0


def _meaning(text: str | None) -> str | None:
    """The name in "4: ACTIVE"."""
    return text.rpartition(":")[2].strip() or None if text else None


def _integer(text: str | None) -> int | None:
    """A number as the kernel writes it, 0x1 or 1."""
    try:
        return int(text, 0) if text else None
    except ValueError:
        return None


def _last(path: str) -> str:
    return path.rpartition("/")[2]
