# SPDX-License-Identifier: Apache-2.0
"""The NICs that NCCL would use on a machine, and what its XML has about each: InfiniBand and RoCE ports, else sockets.

NCCL's functions: `ncclNetInit` chooses the plugin, `ncclTopoPopulateNics` writes its facts. Plugins other than NCCL's
own (libfabric, a vendor's) are not modelled here.
"""

from collections.abc import Mapping
from typing import NamedTuple

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.gdr import nic_gdr, read_gdr
from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice, read_rdma
from railgauge.topo.facts.sources.sysfs_net import MAX_CONNECTIONS, SocketNic, addressed, read_nic, why_no_addresses
from railgauge.topo.facts.sources.sysfs_pci import pci_function
from railgauge.topo.facts.sources.verbs import Verbs, read_verbs
from railgauge.topo.nccl.detect.ib_plugin import IbSettings, NcclPort, nccl_ports, passed_over, read_ib_settings
from railgauge.topo.nccl.graph.bandwidth import NET_UNKNOWN_MBPS
from railgauge.topo.nccl.settings.hca import hca_remarks, plugin_off
from railgauge.topo.nccl.settings.interfaces import socket_interfaces
from railgauge.topo.nccl.settings.parameter import parameter


class Nic(NamedTuple):
    """One NIC. `bus_id` is None if it is on no PCI device; `why_no_bus` says why.

    guid distinguishes cards. speed_mbps, max_connections and gdr (GPUDirect RDMA) are None if unknown.
    """

    name: str
    bus_id: str | None
    why_no_bus: str | None
    speed_mbps: int | None
    port: int
    guid: int
    max_connections: int | None
    gdr: bool | None

    @property
    def attributes(self) -> tuple[tuple[str, str], ...]:
        """The attributes of a <net> after name and dev, in NCCL's order; unknown ones are omitted, except the speed."""
        values = {
            "latency": 0,
            "speed": self.speed_mbps or NET_UNKNOWN_MBPS,
            "port": self.port,
            "guid": f"{self.guid:#x}",
            "maxconn": self.max_connections,
            "gdr": None if self.gdr is None else int(self.gdr),
        }
        return tuple((key, str(value)) for key, value in values.items() if value is not None)


def read_nics(reader: Reader, environment: Mapping[str, str]) -> tuple[tuple[Nic, ...], tuple[str, ...]]:
    """The NICs in the order of their dev numbers, and remarks."""
    off = plugin_off(environment)
    devices = () if off else read_rdma(reader)
    nics, remarks = _ib_nics(reader, environment, devices) if devices else ((), [])
    if not nics and environment.get("NCCL_NET", "").lower() == "ib":
        return (), (*remarks, "NCCL_NET=IB, but NCCL can use no RDMA port: it would not start")
    if not nics:
        names = socket_interfaces(reader, environment)
        nics = tuple(_socket(read_nic(reader, name), dev) for dev, name in enumerate(names))
        remarks += () if getattr(reader, "pasted", ()) else why_no_addresses(reader)
    if not nics:
        remarks.append(_no_interface(reader, environment.get("NCCL_SOCKET_IFNAME")))
    remarks += _bare(nics)
    if unknown := [nic.name for nic in nics if nic.speed_mbps is None]:
        remarks.append(f"{', '.join(unknown)}: speed unknown, assumed {NET_UNKNOWN_MBPS // 1000} Gb/s")
    return nics, tuple(remarks)


def _no_interface(reader: Reader, setting: str | None) -> str:
    names = addressed(reader)
    if setting and names:
        return f"NCCL_SOCKET_IFNAME={setting} excludes every network interface with an address: {', '.join(names)}"
    return "no network interface with an address found"


def _bare(nics: tuple[Nic, ...]) -> list[str]:
    """One line per reason for NICs without a PCI place."""
    same: dict[str, list[str]] = {}
    for nic in nics:
        if nic.why_no_bus:
            same.setdefault(nic.why_no_bus, []).append(nic.name)
    return [f"{', '.join(n)} placed on the first CPU: {why}" for why, n in same.items()]


def _ib_nics(
    reader: Reader, environment: Mapping[str, str], devices: tuple[RdmaDevice, ...]
) -> tuple[tuple[Nic, ...], list[str]]:
    """The ports of NCCL's IB plugin; none where it finds none."""
    settings, verbs, host = read_ib_settings(environment), read_verbs(reader), read_gdr(reader)
    dma_buf = parameter(environment, "NCCL_DMABUF_ENABLE", 1) != 0
    ports = nccl_ports(devices, settings, verbs)
    direct = [nic_gdr(host, port.dma_buf, dma_buf_enabled=dma_buf) for port in ports]
    nics = tuple(_ib_nic(reader, port, gdr) for port, (gdr, _) in zip(ports, direct, strict=True))
    remarks = [*hca_remarks(settings.hca, ((one.name, port.number) for one in devices for port in one.ports))]
    remarks += _unused(devices, settings, verbs)
    if assumed := [port.name for port in ports if port.rdma_port.state is None]:
        remarks.append(f"port state of {', '.join(assumed)} unknown, assumed ACTIVE")
    if getattr(reader, "pasted", ()):  # of what an output does not have nobody expects a warning each
        return nics, remarks
    if unknown := [nic.name for nic in nics if nic.max_connections is None]:
        remarks.append(f"maxconn of {', '.join(unknown)} omitted: {verbs.reason or 'not reported by libibverbs'}")
    if whys := [why for gdr, why in direct if gdr is None]:
        unknown = [nic.name for nic in nics if nic.gdr is None]
        remarks.append(f"gdr of {', '.join(unknown)} omitted, which counts as 0: {whys[0]}")
    return nics, remarks


def _ib_nic(reader: Reader, port: NcclPort, gdr: bool | None) -> Nic:
    """A port of an RDMA device; without a PCI function behind it when NCCL's path of the card leads to none."""
    bus_id, why = pci_function(reader, port.pci_path, placed=port.device.placed)
    return Nic(
        name=port.name,
        bus_id=bus_id,
        why_no_bus=why,
        speed_mbps=port.speed_mbps or None,
        port=port.port,
        guid=port.guid,
        max_connections=port.max_qp,
        gdr=gdr,
    )


def _unused(devices: tuple[RdmaDevice, ...], settings: IbSettings, verbs: Verbs) -> list[str]:
    """One line on the RDMA ports that NCCL does not use, those with one reason together."""
    unused: dict[str, list[str]] = {}
    for device in devices:
        for port in device.ports:
            if why := passed_over(device, port, settings, verbs):
                unused.setdefault(why, []).append(f"{device.name}:{port.number}")
    parts = (f"{', '.join(names)} ({why})" for why, names in unused.items())
    return [f"RDMA ports that NCCL does not use: {'; '.join(parts)}"] if unused else []


def _socket(nic: SocketNic, dev: int) -> Nic:
    """A network interface; its dev number stands for a GUID (`ncclNetSocketGetProperties`)."""
    return Nic(
        name=nic.name,
        bus_id=nic.bus_id,
        why_no_bus=nic.why_no_bus,
        speed_mbps=nic.speed_mbps,
        port=0,
        guid=dev,
        max_connections=MAX_CONNECTIONS,
        gdr=False,
    )
