# SPDX-License-Identifier: Apache-2.0
"""The RDMA ports that NCCL's IB plugin uses, their order and their numbers.

NCCL's functions, of 2.30: `ncclIbInitDevices`, `ncclIbGetPciPath`, `ncclIbGetRealPort`, `ncclIbCompareDevs`,
`ncclIbGetPhysProperties` (transport/net_ib/init.cc); `ncclTopoAutoMerge` (graph/topo.cc).

Order: `ibv_get_device_list` lists devices in the order of their registration, which sysfs does not show: verbs.py reads
it, and without it names in natural order (mlx5_2 before mlx5_10) stand in. NCCL then sorts by PCI address, so only
devices without one, and ports of one function, keep that order (all do with NCCL_IB_DEVICE_PCI_ORDER=0 and before
2.30).

A dump of NCCL has every port (`ncclTopoProcessNet` does not merge when it dumps). A scan does the same, and
merged_nics.py merges on request. `merged` gives what NCCL does when it runs.

NCCL finds a <net> by its name: of several ports of one device (mlx4), the last one's dev stands in the first one's
element.

Not covered: the second, "_dma" device of ConnectX-8 in data-direct mode, which only mlx5dv knows.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice, RdmaPort
from railgauge.topo.facts.sources.verbs import Verbs, VerbsDevice
from railgauge.topo.nccl.detect.merged_nics import MOST_PORTS
from railgauge.topo.nccl.settings.gid import GidChoice, GidSettings, choose_gid, read_gid_settings
from railgauge.topo.nccl.settings.hca import HcaFilter, parse_hca
from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.topo.values.busid import is_bus_id, to_number
from railgauge.topo.values.number import natural

LINK_LAYERS = ("InfiniBand", "Ethernet")
EVERY_PORT, DEFAULT_GID = parse_hca(None), GidSettings()
MAX_PORTS = 32  # MAX_IB_DEVS


class IbSettings(NamedTuple):
    """NCCL's settings for the plugin."""

    hca: HcaFilter = EVERY_PORT
    gid: GidSettings = DEFAULT_GID
    merge_vfs: bool = True
    merge_nics: bool = True
    pci_order: bool = True


class NcclPort(NamedTuple):
    """One port as NCCL's plugin offers it; its place among `nccl_ports` is NCCL's dev.

    port counts through the functions of one card; guid is the number NCCL prints, the card's GUID read in host byte
    order; pci_path is NCCL's: the card's sysfs path with function 0 (and, of a virtual function, device 0), None
    without a device. max_qp is NCCL's maxconn, dma_buf whether the device registers DMA-BUF: None without libibverbs.
    gid: the one it connects with. rail and plane are those of NCCL_IB_HCA.
    """

    device: RdmaDevice
    rdma_port: RdmaPort
    port: int
    guid: int
    speed_mbps: int
    pci_path: str | None
    gid: GidChoice
    max_qp: int | None = None
    dma_buf: bool | None = None
    rail: int | None = None
    plane: int | None = None

    @property
    def name(self) -> str:
        """The device's name."""
        return self.device.name

    @property
    def bus_id(self) -> str | None:
        """The PCI function that NCCL hangs the port on; None when pci_path does not end in one."""
        last = (self.pci_path or "").rpartition("/")[2]
        return last if is_bus_id(last) else None


def read_ib_settings(environment: Mapping[str, str]) -> IbSettings:
    """The settings in an environment."""
    return IbSettings(
        hca=parse_hca(environment.get("NCCL_IB_HCA")),
        gid=read_gid_settings(environment),
        merge_vfs=parameter(environment, "NCCL_IB_MERGE_VFS", 1) != 0,
        merge_nics=parameter(environment, "NCCL_IB_MERGE_NICS", 1) != 0,
        pci_order=parameter(environment, "NCCL_IB_DEVICE_PCI_ORDER", 1) != 0,
    )


def passed_over(device: RdmaDevice, port: RdmaPort, settings: IbSettings, verbs: Verbs) -> str | None:
    """Why NCCL does not use a port; None when it does. One whose state nobody looked for counts as up."""
    if verbs.reason is None and device.name not in verbs.names:
        return "not listed by libibverbs"
    if error := verbs.device(device.name).error:
        return f"libibverbs cannot open it: {error}"
    if not port.is_active and (port.state or port.looked):
        return f"port state is {port.state}" if port.state else "port state unknown"
    if port.link_layer not in LINK_LAYERS and (port.link_layer or port.looked):
        return f"link layer is {port.link_layer or 'unknown'}"
    if not settings.hca.takes(device.name, port.number):
        return "excluded by NCCL_IB_HCA"
    return None


def nccl_ports(devices: Sequence[RdmaDevice], settings: IbSettings, verbs: Verbs) -> tuple[NcclPort, ...]:
    """The ports NCCL uses, in its order; none if the plugin finds none and NCCL falls back to sockets."""
    ports = [
        _offer(device, port, settings, verbs.device(device.name))
        for device in sorted(devices, key=lambda device: _place(device.name, verbs.names))
        for port in device.ports
        if passed_over(device, port, settings, verbs) is None
    ][:MAX_PORTS]
    if settings.pci_order:
        ports.sort(key=lambda port: (port.device.path is None, to_number((port.device.path or "").rpartition("/")[2])))
    return tuple(_numbered(port, ports[:index]) for index, port in enumerate(ports))


def _place(name: str, listed: Sequence[str]) -> tuple[int, list[tuple[str, int]]]:
    return listed.index(name) if name in listed else len(listed), natural(name)


def _offer(device: RdmaDevice, port: RdmaPort, settings: IbSettings, verbs: VerbsDevice) -> NcclPort:
    entry = settings.hca.entry(device.name, port.number)
    return NcclPort(
        device=device,
        rdma_port=port,
        port=port.number,
        guid=guid_number(device.sys_image_guid),
        speed_mbps=round((port.rate_gbps or 0) * 1000),
        pci_path=card_path(device.path, settings.merge_vfs),
        gid=choose_gid(port, settings.gid),
        max_qp=verbs.max_qp,
        dma_buf=verbs.dma_buf,
        rail=entry.rail if entry else None,
        plane=entry.plane if entry else None,
    )


def guid_number(guid: str | None) -> int:
    """NCCL's number of a GUID: its bytes, in network order, read as a little-endian 64-bit number."""
    digits = (guid or "").replace(":", "")
    return int.from_bytes(bytes.fromhex(digits), "little") if re.fullmatch(r"[0-9a-fA-F]{16}", digits) else 0


def card_path(path: str | None, merge_vfs: bool) -> str | None:
    """NCCL's path of the card: .../0000:1b:02.3 becomes .../0000:1b:00.0, without `merge_vfs` .../0000:1b:02.0.

    It overwrites characters at the end of any path, so that virtio3 becomes vir00o0.
    """
    if path is None:
        return None
    return f"{path[:-4]}00{path[-2:-1]}0" if merge_vfs else f"{path[:-1]}0"


def _numbered(port: NcclPort, before: Sequence[NcclPort]) -> NcclPort:
    """The port with NCCL's number, which counts the ports of the same card before it."""
    same = [other for other in before if port.pci_path is not None and other.pci_path == port.pci_path]
    return port._replace(port=port.port + len(same))


def merged(ports: Sequence[NcclPort], settings: IbSettings) -> tuple[tuple[NcclPort, ...], ...]:
    """The NICs as NCCL fuses them when it runs, with NCCL_NET_MERGE_LEVEL at its default PORT: those of one card.

    A group that mixes link layers is refused, and its first port stays alone. Devices without a PCI path are one card:
    `ncclTopoFillNet` puts them into one <nic>, and to `ncclTopoGetPath` ports of one <nic> are PORT apart. The card of
    a device without a place is unknown: it stays alone.
    """
    left = list(ports)
    nics: list[tuple[NcclPort, ...]] = []
    while left:
        card = tuple(port for port in left if port.pci_path == left[0].pci_path)[:MOST_PORTS]
        known = all(port.device.placed for port in card)
        alone = not (known and settings.merge_nics) or len({port.rdma_port.link_layer for port in card}) > 1
        nics.append(card[:1] if alone else card)
        left = [port for port in left if port not in nics[-1]]
    return tuple(nics)
