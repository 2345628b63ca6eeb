# SPDX-License-Identifier: Apache-2.0
"""Ports of one card as one NIC, as NCCL's IB plugin offers them (NIC fusion at level PORT, `ncclTopoMakeVNics`).

A merged NIC has the ports' speeds added up and a dev number after all ports'. It stands after the ports in the file;
these are marked net="0", which leaves them out.
"""

from dataclasses import replace

from railgauge.topo.element import Element
from railgauge.topo.topology import Topology


def merge_nics(topology: Topology) -> Topology:
    """The topology with the ports of each card merged; cards with one port stay as they are."""
    nets = [net for cpu in topology.cpus for net in cpu.walk() if net.name == "net"]
    following = max((net.integer("dev", topology.path, -1) for net in nets), default=-1) + 1
    return replace(topology, root=_merged(topology.root, topology.path, [following]))


def _merged(element: Element, path: str | None, following: list[int]) -> Element:
    children = tuple(_merged(child, path, following) for child in element.children)
    if element.name != "nic":
        return replace(element, children=children)
    ports = [net for net in children if net.name == "net" and net.get("dev") and net.integer("net", path, 1)]
    if len(ports) < 2:
        return replace(element, children=children)
    card = _card(ports, path, following[0])
    following[0] += 1
    kept = tuple(_with(net, "net", "0") if net in ports else net for net in children)
    return replace(element, children=(*kept, card))


def _card(ports: list[Element], path: str | None, dev: int) -> Element:
    """The merged NIC: the first port's attributes, with the names joined and the speeds added up."""
    card = _with(ports[0], "name", "+".join(port.get("name") or "" for port in ports))
    card = _with(card, "speed", str(sum(max(0, port.integer("speed", path, 0)) for port in ports)))
    return _with(card, "dev", str(dev))


def _with(element: Element, key: str, value: str) -> Element:
    """The element with one attribute set, in its place or at the end."""
    if element.get(key) is None:
        return replace(element, attributes=(*element.attributes, (key, value)))
    return replace(element, attributes=tuple((k, value if k == key else v) for k, v in element.attributes))
