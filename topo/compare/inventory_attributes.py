# SPDX-License-Identifier: Apache-2.0
"""The attributes of an inventory: every PCI function, GPU, NIC, port and interface.

Volatile ones are left out: the link speed of a GPU, which drops when it is idle, and virtual functions, of which only
the number is kept.
"""

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator

from railgauge.topo.compare.attributes import (
    Attributes,
    Facts,
    kind_of,
    numa_attributes,
    nvlink_peers,
    pci_label,
    yes_or_no,
)
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.sources.nccl_settings import ENVIRONMENT, Setting
from railgauge.topo.facts.sources.nvml import NvmlGpu
from railgauge.topo.facts.sources.pci_functions import PciFunction
from railgauge.topo.facts.sources.sysfs_infiniband import Gid, RdmaDevice, RdmaPort
from railgauge.topo.facts.sources.sysfs_interfaces import SysfsInterface
from railgauge.topo.nccl.graph.link_facts import ends_at_rest
from railgauge.topo.values.numa_node import NumaNode
from railgauge.topo.values.spans import listed

LOOPBACK = "lo"
SETTINGS = "settings"


def of_inventory(inventory: MachineFacts, numa: Iterable[NumaNode]) -> tuple[Attributes, ...]:
    """The attributes of all devices of an inventory, and of the host's NUMA nodes."""
    functions = [function for function in inventory.pci if function.physfn is None]
    virtual = Counter(function.physfn for function in inventory.pci)
    resting = ends_at_rest(inventory)
    items = [_host(inventory), *(numa_attributes(node.id, {"cores": listed(node.cpus)}) for node in numa)]
    items += [_function(inventory, function, virtual[function.bus_id], resting) for function in functions]
    known = {function.bus_id for function in functions}
    items += [_gpu_alone(inventory, gpu) for gpu in inventory.gpus if gpu.bus_id not in known]
    for device in inventory.rdma:
        items += _ports(device)
    items += [_interface(one) for one in inventory.interfaces if one.name != LOOPBACK and (one.bus_id or one.addresses)]
    return tuple(items)


def of_settings(settings: Iterable[Setting]) -> Attributes:
    """NCCL's settings as one entry: for a machine of a cluster, or for the shells of two that are compared."""
    facts: Facts = {one.name: _setting(one) for one in settings}
    return Attributes(kind=SETTINGS, id=SETTINGS, label="", facts=facts)


def _setting(setting: Setting) -> str:
    return (setting.value or '""') + (f" (in {setting.origin})" if setting.origin != ENVIRONMENT else "")


def _host(inventory: MachineFacts) -> Attributes:
    host, gdr = inventory.host, inventory.gdr
    modules = [posixpath.basename(posixpath.dirname(path)) for path in gdr.peer_memory]
    facts: Facts = {
        "kernel": host.kernel,
        "driver": gdr.driver,
        "open kernel modules": yes_or_no(gdr.open_driver),
        "GDR module": ", ".join(modules) or "none",
        "CPU": host.cpu,
        "product": host.product,
    }
    if inventory.cuda:
        facts["CUDA"] = inventory.cuda
    return Attributes(kind="host", id="host", label="", facts=facts)


def _function(inventory: MachineFacts, function: PciFunction, virtual: int, resting: set[str]) -> Attributes:
    bus_id, link = function.bus_id, function.link
    gpu = inventory.gpu(bus_id)
    devices = [device for device in inventory.rdma if device.bus_id == bus_id]
    interfaces = [one for one in inventory.interfaces if one.bus_id == bus_id]
    names = (*(device.name for device in devices), *(one.name for one in interfaces))
    facts: Facts = {
        "width": _lanes(link.lanes),
        "speed": _speed(link.gt_per_s),
        "max width": _lanes(link.max_lanes),
        "max speed": _speed(link.max_gt_per_s),
        "place": f"below {function.path[-2]}" if len(function.path) > 1 else None,
        "NUMA node": "none" if function.numa is None else str(function.numa),
        "kernel driver": function.driver or "none",
        "device id": _ids(function),
        "virtual functions": str(virtual),
    }
    if bus_id in resting:
        del facts["speed"]
    identity: Facts = {"UUID": gpu.uuid} if gpu else {}
    for device in devices:
        facts |= {"name": device.name, "firmware": device.firmware, "board": device.board_id}
        identity["GUID"] = device.node_guid
    name = str(gpu.index) if gpu else next(iter(names), "")
    kind = kind_of(function.pci_class, function.vendor)
    if kind == "GPU":
        facts["known to NVML"] = yes_or_no(gpu is not None if inventory.no_nvml is None else None)
    return Attributes(
        kind=kind,
        id=bus_id,
        label=pci_label(kind, name, bus_id),
        facts=facts | (_gpu(inventory, gpu) if gpu else {}),
        names=(*filter(None, identity.values()), *((f"GPU{gpu.index}",) if gpu else names)),
        identity=identity,
        parent=function.parent,
    )


def _gpu_alone(inventory: MachineFacts, gpu: NvmlGpu) -> Attributes:
    """A GPU that sysfs does not show, as in some containers."""
    label = pci_label("GPU", str(gpu.index), gpu.bus_id)
    return Attributes(kind="GPU", id=gpu.bus_id, label=label, facts=_gpu(inventory, gpu), identity={"UUID": gpu.uuid})


def _gpu(inventory: MachineFacts, gpu: NvmlGpu) -> Facts:
    fabric, known = gpu.fabric, inventory.no_nvml is None
    firmware: Facts = {"VBIOS": gpu.vbios} if gpu.vbios else {}
    usable = [link for link in gpu.links if link.usable]
    return firmware | {
        "model": gpu.name,
        "sm": str(gpu.sm),
        "NVLinks": str(len(usable)) if known else None,
        "NVLink peers": nvlink_peers(Counter(link.remote or "?" for link in usable)) if known else None,
        "chip-to-chip links": str(gpu.c2c[0] if gpu.c2c else 0),
        "GPUDirect RDMA": yes_or_no(gpu.gdr),
        "DMA-BUF": yes_or_no(gpu.dma_buf),
        "MIG": yes_or_no(gpu.mig),
        "memory's NUMA node": "none" if gpu.numa is None else str(gpu.numa),
        "fabric state, status": f"{fabric.state}, {fabric.status}" if fabric else None,
        "peers with P2P": str(sum(read == write == 0 for _, read, write in gpu.p2p)) if gpu.p2p else None,
    }


def _ports(device: RdmaDevice) -> Iterator[Attributes]:
    for port in device.ports:
        yield Attributes(
            kind="port",
            id=f"{device.bus_id or device.name} port {port.number}",
            label=f"{device.name} port {port.number}",
            names=tuple(f"{name} port {port.number}" for name in (device.node_guid, device.name) if name),
            facts=_port(port),
            identity={"LID": _text(port.lid)},
        )


def _port(port: RdmaPort) -> Facts:
    return {
        "state": port.state.capitalize() if port.state else None,
        "physical state": port.physical_state,
        "rate": port.rate,
        "link layer": port.link_layer,
        "interface": port.netdev or "none",
        "GIDs": ", ".join(map(_gid, port.gids)) or "none",
    }


def _gid(gid: Gid) -> str:
    """Index and RoCE version, by which NCCL chooses: "3 v2"."""
    return f"{gid.index} v{gid.roce_version}" if gid.roce_version else str(gid.index)


def _interface(interface: SysfsInterface) -> Attributes:
    speed = interface.speed_mbps
    facts: Facts = {
        "state": interface.state,
        "rate": f"{speed / 1000:g} Gb/s" if speed else None,
        "MTU": _text(interface.mtu),
        "behind it": interface.bus_id or "no PCI device",
    }
    identity: Facts = {"MAC": interface.mac, "addresses": ", ".join(interface.addresses) or "none"}
    return Attributes(
        kind="interface",
        id=f"interface {interface.name}",
        label=interface.name,
        facts=facts,
        names=(interface.mac,) if interface.mac else (),
        identity=identity,
    )


def _ids(function: PciFunction) -> str:
    numbers = (function.vendor, function.device, function.subsystem_vendor, function.subsystem_device)
    return ":".join((number or "?").removeprefix("0x") for number in numbers)


def _lanes(lanes: int | None) -> str | None:
    return None if lanes is None else f"x{lanes}"


def _speed(gt_per_s: float | None) -> str | None:
    return None if gt_per_s is None else f"{gt_per_s:g} GT/s"


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)
