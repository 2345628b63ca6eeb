# SPDX-License-Identifier: Apache-2.0
"""The RDMA ports of a machine: whether NCCL uses each, as which NIC, with which GID."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.gdr import GdrFacts, nic_gdr, read_gdr
from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice, RdmaPort, read_rdma
from railgauge.topo.facts.sources.verbs import Verbs, VerbsDevice, read_verbs
from railgauge.topo.nccl.detect.ib_plugin import MAX_PORTS, NcclPort, merged, nccl_ports, passed_over, read_ib_settings
from railgauge.topo.nccl.settings.gid import GidChoice, choose_gid
from railgauge.topo.nccl.settings.hca import hca_remarks, plugin_off
from railgauge.topo.nccl.settings.parameter import parameter

TOO_MANY = f"NCCL uses at most {MAX_PORTS} ports"


@dataclass(frozen=True, slots=True, kw_only=True)
class PortSurvey:
    """One port. nccl is NCCL's view of it, None if NCCL does not use it; unused says why.

    dev is NCCL's number, None also if the PCI addresses that NCCL sorts by are unknown. gdr: whether
    NIC and host can do GPUDirect RDMA, None if unknown, and why.
    """

    device: RdmaDevice
    port: RdmaPort
    verbs: VerbsDevice
    gid: GidChoice
    gdr: tuple[bool | None, str]
    dev: int | None = None
    nccl: NcclPort | None = None
    unused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RdmaSurvey:
    """All devices and ports, what NCCL merges into one NIC, what GPUDirect RDMA needs of the host, and remarks."""

    devices: tuple[RdmaDevice, ...]
    verbs: Verbs
    ports: tuple[PortSurvey, ...]
    merged: tuple[tuple[NcclPort, ...], ...]
    gdr: GdrFacts
    remarks: tuple[str, ...]

    @property
    def unknown(self) -> str | None:
        """Why libibverbs did not answer; None if it did, or there are no devices."""
        return self.verbs.reason if self.devices else None


def survey_rdma(reader: Reader, environment: Mapping[str, str]) -> RdmaSurvey:
    """Look at all RDMA ports with NCCL's settings in `environment`."""
    devices, verbs, gdr = read_rdma(reader), read_verbs(reader), read_gdr(reader)
    settings = read_ib_settings(environment)
    off, dma_buf_enabled = plugin_off(environment), parameter(environment, "NCCL_DMABUF_ENABLE", 1) != 0
    used = () if off else nccl_ports(devices, settings, verbs)
    sorted_by_place = not settings.pci_order or all(one.device.placed for one in used)

    def survey(device: RdmaDevice, port: RdmaPort) -> PortSurvey:
        answer = verbs.device(device.name)
        dev = next((n for n, one in enumerate(used) if one.device is device and one.rdma_port is port), None)
        return PortSurvey(
            device=device,
            port=port,
            verbs=answer,
            gid=choose_gid(port, settings.gid),
            gdr=nic_gdr(gdr, answer.dma_buf, dma_buf_enabled=dma_buf_enabled),
            dev=dev if sorted_by_place else None,
            nccl=None if dev is None else used[dev],
            unused=None if dev is not None else off or passed_over(device, port, settings, verbs) or TOO_MANY,
        )

    ports = tuple(survey(device, port) for device in devices for port in device.ports)
    names = [(port.device.name, port.port.number) for port in ports]
    return RdmaSurvey(
        devices=devices,
        verbs=verbs,
        ports=ports,
        merged=tuple(nic for nic in merged(used, settings) if len(nic) > 1),
        gdr=gdr,
        remarks=(*hca_remarks(settings.hca, names), *_remarks(devices, ports)),
    )


def _remarks(devices: Sequence[RdmaDevice], ports: Sequence[PortSurvey]) -> list[str]:
    """Warnings about ports that NCCL uses but that will not work."""
    lines = [f"{device.name}: no readable port" for device in devices if not device.ports]
    if unplaced := ", ".join(device.name for device in devices if not device.placed):
        lines.append(f"{unplaced}: PCI devices not recorded, so NCCL's NIC numbers and merging are unknown")
    if without := ", ".join(port.device.name for port in ports if port.nccl and port.gid.index is None):
        lines.append(f"{without}: GIDs not recorded, so NCCL's choice is unknown")
    for port in ports:
        name = f"{port.device.name}:{port.port.number}"
        if port.nccl and port.device.protocol == "iwarp":
            lines.append(f"{name}: iWARP needs rdma_cm, which NCCL does not use: exclude it with NCCL_IB_HCA")
        elif port.nccl and port.gid.gid is None and port.port.gid_table_length:
            lines.append(f"{name}: GID {port.gid.index} is empty, so connections will fail ({port.gid.why})")
    return lines
