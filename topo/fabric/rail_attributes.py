# SPDX-License-Identifier: Apache-2.0
"""rail= and plane= of the <net> elements of a topology file, which NCCL 2.30 reads."""

from collections.abc import Iterable
from dataclasses import replace

from railgauge.topo.fabric.captured import CapturedPort
from railgauge.topo.fabric.model import FabricMap
from railgauge.topo.fabric.rails import FabricRails, Rail, RailRole, rail_of
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.topology import Topology


def with_rails(
    topology: Topology, fabric: FabricMap, rails: FabricRails, ports: Iterable[CapturedPort]
) -> tuple[Topology, int]:
    """The topology with the rails of its NICs, and how many have one. A <net> is the port of its name and number."""
    of_address = {one.address: rail_of(fabric, rails, one) for one in fabric.endpoints if one.address}
    found: dict[tuple[str, int], Rail] = {}
    for port in ports:
        rail = next((of_address[address] for address in port.addresses if of_address.get(address)), None)
        if rail is not None and rail.role is RailRole.COMPUTE:
            found[port.device, port.number] = rail
    root, count = _numbered(topology.root, found)
    return replace(topology, root=root), count


def _numbered(element: Element, found: dict[tuple[str, int], Rail]) -> tuple[Element, int]:
    count = 0
    children = []
    for child in element.children:
        changed, its = _numbered(child, found)
        children.append(changed)
        count += its
    attributes = element.attributes
    rail = found.get((element.get("name") or "", element.integer("port", None, 1))) if element.name == "net" else None
    if rail is not None:
        kept = tuple(pair for pair in attributes if pair[0] not in ("rail", "plane"))
        plane = () if rail.plane is None else (("plane", str(rail.plane)),)
        attributes = (*kept, ("rail", str(rail.number)), *plane)
        count += 1
    return replace(element, attributes=attributes, children=tuple(children)), count
