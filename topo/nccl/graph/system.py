# SPDX-License-Identifier: Apache-2.0
"""Topology -> System: nodes and links as NCCL 2.30 makes them (`ncclTopoGetSystemFromXml`), or with ranks on the host.

The order of nodes and links is NCCL's, because its search follows it; fusion.py makes it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from railgauge.topo.errors import InputError
from railgauge.topo.nccl.graph import figures
from railgauge.topo.nccl.graph.broadcom import flatten
from railgauge.topo.nccl.graph.figures import UNLIMITED, Figure
from railgauge.topo.nccl.graph.fusion import in_fused_order
from railgauge.topo.nccl.graph.gfx import gfx_name
from railgauge.topo.nccl.graph.host_ranks import add_host_ranks
from railgauge.topo.nccl.graph.model import LinkKind, NodeKind, System
from railgauge.topo.nccl.graph.system_builder import LOCAL_ID_MASK, SystemBuilder
from railgauge.topo.values.busid import to_number
from railgauge.topo.values.cpuset import from_mask
from railgauge.topo.values.numa_node import NumaNode
from railgauge.topo.values.pci_class import GPUS, NETWORK, NVLINK_BRIDGE, NVSWITCH
from railgauge.topo.values.printable import inline
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.placed_element import host_of
from railgauge.topo.xml.topology import PciRate, Topology

GPU_SHIFT = 40  # NCCL_TOPO_GPU_LOCAL_ID: several GPUs of one bus id


def build_system(topology: Topology, *, host_ranks: int | None = None) -> System:
    """The System of a topology; its ranks are the GPUs, or `host_ranks` ranks spread over the cores of the NUMA nodes.

    InputError with the line if the topology contradicts itself.
    """
    cpus = tuple((in_fused_order(topology) if host_ranks is None else topology.root).all("cpu"))
    systems: dict[int | str, int] = {}
    for cpu in cpus:
        systems.setdefault(host_of(cpu.get("host_hash")), len(systems))
    hosts = {str(host): number for host, number in systems.items()}
    now = {(hosts[host], number): rate for (host, number), rate in (topology.now or {}).items() if host in hosts}
    scope = _Scope(path=topology.path, builder=SystemBuilder(), numa=topology.numa, now=now)
    for cpu in cpus:
        _add_cpu(scope, cpu, systems[host_of(cpu.get("host_hash"))])
    for kind, add in (("nvlink", _add_nvlink), ("c2c", _add_c2c), ("pcilink", _add_pcilink)):
        for cpu in cpus:
            _add_wires(scope, cpu, systems[host_of(cpu.get("host_hash"))], kind, add)
    flatten(scope.builder)
    _connect_cpus(scope)
    scope.builder.sort()
    if host_ranks is not None:
        return add_host_ranks(scope.builder, topology.numa, host_ranks, topology.allowed)
    gpus = sorted(scope.builder.of_kind(NodeKind.GPU), key=lambda key: scope.builder.node(key).rank or 0)
    scope.builder.number_ranks(gpus)
    return scope.builder.build(tuple(gpus))


@dataclass(slots=True, kw_only=True)
class _Scope:
    """Shared state of the functions below: the file's name for errors, the System so far, and `now`, the links that run
    slower than planned by the number of the host and the bus id.
    """

    path: str | None
    builder: SystemBuilder
    numa: tuple[NumaNode, ...]
    now: Mapping[tuple[int, int], PciRate]


_Add: TypeAlias = Callable[[_Scope, Element, int, int], None]


def _add_cpu(scope: _Scope, cpu: Element, system: int) -> None:
    numa = cpu.integer("numaid", scope.path)
    place = _place(scope, cpu, numa)
    node = scope.builder.add(
        NodeKind.CPU,
        system,
        numa & LOCAL_ID_MASK,
        cpu.line,
        scope.path,
        numa=place.id,
        arch=_text(cpu, "arch"),
        vendor=_text(cpu, "vendor"),
        cpus=place.cpus,
        device=cpu.integer("familyid", scope.path, 0) << 32 | cpu.integer("modelid", scope.path, 0) & 0xFFFFFFFF,
    )
    for child in cpu.children:
        if child.name == "pci":
            _add_pci(scope, child, node, system)
        elif child.name == "nic":
            nic = scope.builder.get_or_add(NodeKind.NIC, system, 0)
            if not scope.builder.links[nic]:
                scope.builder.wire(node, nic, LinkKind.PCI, UNLIMITED)
            _add_nets(scope, child, nic, system)


def _place(scope: _Scope, cpu: Element, numa: int) -> NumaNode:
    """The NUMA node of a <cpu> and its cores; -1 is the host's only node where it has only one."""
    try:
        cores = from_mask(cpu.get("affinity") or "0")
    except ValueError as error:
        raise InputError(f"<cpu> affinity is {cpu.get('affinity')!r}: {error}", scope.path, cpu.line) from error
    if numa == -1 and len(scope.numa) == 1:
        return scope.numa[0]
    known = next((node.cpus for node in scope.numa if node.id == numa), ())
    return NumaNode(id=numa, cpus=cores or known)


def _add_pci(scope: _Scope, pci: Element, parent: str, system: int) -> None:
    text = pci.require("busid", scope.path)
    number = to_number(text)
    speed = figures.pci(pci.get("link_speed") or "", pci.count("link_width", scope.path, 0))
    if now := scope.now.get((system, number)):
        speed = figures.running(speed, figures.pci(*now))
    for count, gpu in enumerate(pci.all("gpu")):
        _add_gpu(scope, pci, gpu, parent, system, number, count, speed)
    nic = next(pci.all("nic"), None)
    if nic is not None:
        known = scope.builder.find(NodeKind.NIC, system, number)
        node = known or scope.builder.add(NodeKind.NIC, system, number, pci.line, scope.path, bus_id=text)
        _add_nets(scope, nic, node, system)
        if known is None:
            scope.builder.wire(node, parent, LinkKind.PCI, speed)
    elif _is_switch(pci):
        node = scope.builder.add_again(
            NodeKind.PCI, system, number, pci.line, scope.path, bus_id=text, device=_device_number(pci, scope.path)
        )
        for child in pci.all("pci"):
            _add_pci(scope, child, node, system)
        scope.builder.wire(node, parent, LinkKind.PCI, speed)


def _is_switch(pci: Element) -> bool:
    """NCCL's `kvDictPciClass`: anything but an NVSwitch, POWER bridge, GPU or NIC counts as a PCI switch."""
    kind = pci.get("class") or ""
    return not kind.startswith((NVSWITCH, NVLINK_BRIDGE, *GPUS, NETWORK))


def _device_number(pci: Element, path: str | None) -> int:
    parts = (pci.integer(key, path, 0) for key in ("vendor", "device", "subsystem_vendor", "subsystem_device"))
    return sum((part & 0xFFFF) << shift for part, shift in zip(parts, (48, 32, 16, 0), strict=True))


def _add_gpu(
    scope: _Scope, pci: Element, gpu: Element, parent: str, system: int, number: int, count: int, speed: Figure
) -> None:
    builder, path, gfx = scope.builder, scope.path, gfx_name(gpu.get("gcn"))
    sm = None if gfx else gpu.integer("sm", scope.path, 0)  # of RCCL it is the number of compute units
    dev = gpu.integer("dev", path, len(builder.of_kind(NodeKind.GPU)))
    bus_id = pci.require("busid", path)
    card = builder.find(NodeKind.DEV, system, number)
    if card is None:
        card = builder.add(NodeKind.DEV, system, number, gpu.line, path, dev=dev, sm=sm, gfx=gfx, bus_id=bus_id)
        builder.wire(card, parent, LinkKind.PCI, speed)
    elif count == 0:
        raise InputError(f"bus id {bus_id} already has a GPU", path, gpu.line)
    rank = gpu.integer("rank", path, -1)
    node = builder.add(
        NodeKind.GPU,
        system,
        count << GPU_SHIFT | number,
        gpu.line,
        path,
        dev=dev,
        rank=rank if rank >= 0 else None,
        sm=sm,
        gfx=gfx,
        gdr=gpu.integer("gdr", path, 0) != 0,
        bus_id=bus_id,
    )
    builder.wire(card, node, LinkKind.LOC, UNLIMITED)


def _add_nets(scope: _Scope, nic: Element, node: str, system: int) -> None:
    for net in nic.all("net"):
        if net.get("dev") is None or net.integer("net", scope.path, 1) == 0:
            continue  # an unused port, or a port that is part of a merged NIC
        dev = net.integer("dev", scope.path)
        facts = {
            "name": _text(net, "name"),
            "port": net.integer("port", scope.path, 0),
            "asic": _asic(net, dev),
            "gdr": net.integer("gdr", scope.path, 0) != 0,
            "latency_us": _latency(net, scope.path),
        }
        speed = figures.net(net.integer("speed", scope.path, 0))
        scope.builder.add_net(node, system, dev, speed, net.line, scope.path, **facts)


def _text(element: Element, name: str) -> str | None:
    """An attribute that is text, on one line."""
    text = element.get(name)
    return None if text is None else inline(text)


def _asic(net: Element, dev: int) -> int:
    """NCCL's number of a card: the GUID, read as hexadecimal; the NIC's number if there is none."""
    text = net.get("guid")
    try:
        return dev if text is None else int(text, 16)
    except ValueError:
        return 0


def _latency(net: Element, path: str | None) -> float:
    text = net.get("latency") or "0"
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"<net> latency is {text[:40]!r}, not a number", path, net.line)
    return value


def _add_wires(scope: _Scope, cpu: Element, system: int, kind: str, add: _Add) -> None:
    """NVLinks of the whole file first, then C2C, then links between switches: each is a pass of its own in NCCL."""
    for pci in cpu.walk():
        if pci.name == "pci":
            holders = [pci] if kind == "pcilink" else list(pci.all("gpu"))[:1]
            for wire in (wire for holder in holders for wire in holder.all(kind)):
                add(scope, wire, to_number(pci.require("busid", scope.path)), system)


def _card(scope: _Scope, wire: Element, number: int, system: int) -> str:
    """The card at the start of a link; InputError if its GPU is below an element without GPUs, such as a NIC."""
    card = scope.builder.find(NodeKind.DEV, system, number)
    if card is None:
        raise InputError(f"<{wire.name}> is on a GPU that is below no CPU or PCI switch", scope.path, wire.line)
    return card


def _add_nvlink(scope: _Scope, wire: Element, number: int, system: int) -> None:
    builder, card = scope.builder, _card(scope, wire, number, system)
    count, gpu = wire.count("count", scope.path), builder.node(card)
    speed = figures.xgmi(count, gpu.gfx) if gpu.gfx else figures.nvlinks(count, gpu.sm or 0)
    kind = wire.get("tclass") or ""
    if kind.startswith(GPUS):
        remote = builder.find(NodeKind.DEV, system, to_number(wire.require("target", scope.path)))
        if remote is not None:
            builder.connect(card, remote, LinkKind.NVL, speed)
        return
    remote = builder.local_cpu(card) if kind.startswith(NVLINK_BRIDGE) else builder.get_or_add(NodeKind.NVS, 0, 0)
    if remote is not None:
        builder.wire(card, remote, LinkKind.NVL, speed)


def _add_c2c(scope: _Scope, wire: Element, number: int, system: int) -> None:
    card = _card(scope, wire, number, system)
    speed = figures.c2c(wire.count("count", scope.path), wire.count("bw", scope.path))
    cpu = scope.builder.local_cpu(card)
    if cpu is not None:
        scope.builder.wire(card, cpu, LinkKind.C2C, speed)


def _add_pcilink(scope: _Scope, wire: Element, number: int, system: int) -> None:
    here = scope.builder.find(NodeKind.PCI, system, number)
    there = scope.builder.find(NodeKind.PCI, system, to_number(wire.require("target", scope.path)))
    if here and there:
        scope.builder.connect(here, there, LinkKind.LOC, UNLIMITED)


def _connect_cpus(scope: _Scope) -> None:
    cpus = [scope.builder.node(key) for key in scope.builder.of_kind(NodeKind.CPU)]
    for one in cpus:
        for other in cpus:
            if one.id != other.id and one.system == other.system:
                scope.builder.connect(one.id, other.id, LinkKind.SYS, figures.between_cpus(one))
