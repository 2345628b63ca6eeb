# SPDX-License-Identifier: Apache-2.0
"""Ports of one card as one NIC, as NCCL's IB plugin offers them (NIC fusion at level PORT, its default).

A merged NIC has the ports' speeds added up and a dev number after all ports'. It stands after the ports; these are
marked net="0", which leaves them out. Where the ports are functions of their own, it gets a PCI device of its own.
NCCL's functions: `ncclTopoAutoMerge`, `ncclTopoGetPath`, `ncclTopoGetVNicParent`. NCCL merges after it has written its
dump, so a dump shows the ports alone.
"""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.values.busid import next_bus_id
from railgauge.topo.xml.placed_element import host_of
from railgauge.topo.xml.topology import Topology
from railgauge.topo.xml.tree import ElementBuilder, thaw

MOST_PORTS = 4  # NCCL_NET_MAX_DEVS_PER_NIC


def merge_nics(topology: Topology) -> Topology:
    """The topology with the ports of each card merged; cards with one port stay as they are."""
    root = thaw(topology.root)
    ports: dict[int | str, list[tuple[int, ElementBuilder]]] = {}
    for cpu in root.all("cpu"):
        ports.setdefault(host_of(cpu.get("host_hash")), []).extend(_ports(cpu, topology.path))
    for numbered in ports.values():
        following = max((dev for dev, _ in numbered), default=-1) + 1
        used = [net for dev, net in sorted(numbered, key=lambda pair: pair[0]) if net.integer("net", topology.path, 1)]
        for dev, card in enumerate(_cards(used), following):
            _add_card(root, card, dev, topology.path)
    return replace(topology, root=root.freeze())


def _ports(cpu: ElementBuilder, path: str | None) -> Iterator[tuple[int, ElementBuilder]]:
    return ((net.integer("dev", path), net) for net in cpu.walk() if net.name == "net" and net.get("dev"))


def _cards(ports: list[ElementBuilder]) -> Iterator[list[ElementBuilder]]:
    """The ports that make one card each, two to four of them."""
    left = list(ports)
    while left:
        card = [port for port in left if port is left[0] or _share_card(left[0], port)][:MOST_PORTS]
        left = [port for port in left if port not in card]
        if len(card) > 1:
            yield card


def _share_card(one: ElementBuilder, other: ElementBuilder) -> bool:
    """Whether two ports are on one device, or on functions of one that differ in the last digit of the bus id."""
    if one.parent is other.parent:
        return True
    pairs = zip(reversed(list(one.above())), reversed(list(other.above())), strict=False)
    ends = next(((a.get("busid"), b.get("busid")) for a, b in pairs if a is not b), (None, None))
    return ends[0] is not None and ends[1] is not None and ends[0][:-1] == ends[1][:-1]


def _add_card(root: ElementBuilder, card: list[ElementBuilder], dev: int, path: str | None) -> None:
    holder = card[0].parent if all(port.parent is card[0].parent for port in card) else _new_device(root, card[0])
    merged = (holder or root).add("net", *card[0].attributes.items())
    merged.put("name", "+".join(port.get("name") or "" for port in card))
    merged.put("speed", str(sum(max(0, port.integer("speed", path, 0)) for port in card)))
    merged.put("dev", str(dev))
    for port in card:
        port.put("net", "0")


def _new_device(root: ElementBuilder, port: ElementBuilder) -> ElementBuilder | None:
    """The <nic> of a PCI device beside the port's, with its attributes and the next free bus id."""
    function = next((tree for tree in port.above() if tree.name == "pci"), None)
    if function is None or function.parent is None:
        return None
    bus_id = next_bus_id(function.get("busid") or "")
    while root.find("pci", "busid", bus_id):
        bus_id = next_bus_id(bus_id)
    made = function.parent.add("pci", *function.attributes.items())
    made.put("busid", bus_id)
    return made.add("nic")
