# SPDX-License-Identifier: Apache-2.0
"""The RDMA ports of captured nodes, and the endpoints of a fabric that they are: joined by port GUID or MAC alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from railgauge.topo.fabric.model import FabricEndpoint, FabricMap
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.named_source import Source, open_source
from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice, RdmaPort
from railgauge.topo.nccl.settings.hca import parse_hca, plugin_off

HCA = "NCCL_IB_HCA"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedPort:
    """A port of a captured node. addresses: port GUID in 16 hex digits, MAC of its interface.

    number: within its device. used: whether NCCL_IB_HCA of the capture lets NCCL use it; setting: that value, None
    where it is not set. sm_lid: of the subnet manager, 0 for none, None on Ethernet.
    """

    node: str
    device: str
    number: int
    addresses: tuple[str, ...]
    name: str
    active: bool
    state: str
    sm_lid: int | None
    used: bool
    setting: str | None


def captured_ports(paths: Iterable[Source]) -> tuple[CapturedPort, ...]:
    """The ports of captures, or of whatever else `--from` names. InputError for one that is unreadable."""
    return tuple(port for path in paths for port in _ports(path))


def _ports(path: Source) -> list[CapturedPort]:
    reader, _ = open_source(path)
    if reader is None:
        return []
    facts = MachineFacts(reader)
    environment: Mapping[str, str] = getattr(reader, "environment", {})
    setting = environment.get(HCA)
    hca, off = parse_hca(setting), plugin_off(environment) is not None
    macs = {one.name: one.mac for one in facts.interfaces if one.mac}
    node = facts.identity[0] or str(path)
    return [
        CapturedPort(
            node=node,
            device=device.name,
            number=port.number,
            name=device.name if len(device.ports) == 1 else f"{device.name}:{port.number}",
            addresses=tuple(_addresses(port, macs)),
            active=port.is_active,
            state=port.state or "",
            sm_lid=port.sm_lid if port.link_layer == "InfiniBand" else None,
            used=not off and port.is_active and hca.takes(device.name, port.number),
            setting=setting,
        )
        for device, port in _of_all(facts.rdma)
    ]


def _of_all(devices: Sequence[RdmaDevice]) -> Iterable[tuple[RdmaDevice, RdmaPort]]:
    return ((device, port) for device in devices if not device.virtual for port in device.ports)


def _addresses(port: RdmaPort, macs: Mapping[str, str]) -> Iterable[str]:
    if port.link_layer == "InfiniBand" and port.guid:
        yield port.guid.replace(":", "").lower()
    if port.netdev and port.netdev in macs:
        yield macs[port.netdev].lower()


def joined(fabric: FabricMap, ports: Iterable[CapturedPort]) -> tuple[FabricMap, dict[FabricEndpoint, CapturedPort]]:
    """The fabric with the captures' names, and the port that each endpoint is."""
    of_address = {address: port for port in ports for address in port.addresses}
    endpoints, found = [], {}
    for one in fabric.endpoints:
        port = of_address.get(one.address) if one.address else None
        if port is not None:
            one = replace(one, node=port.node, device=port.name, captured=True, named=True)
            found[one] = port
        endpoints.append(one)
    return replace(fabric, endpoints=tuple(endpoints)), found
