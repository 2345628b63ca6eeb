# SPDX-License-Identifier: Apache-2.0
"""The PCI devices of a topology XML, and those that it has to show of a board: in one form, to be compared.

The second is made from the board by the rules of NCCL's XML: a switch is named by its upstream port, the parent of
what is below; link speed and width are the lesser of what the device and the port above it can do.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import NamedTuple

from tests.vm.lab.board import Board, Placed, layout


class Device(NamedTuple):
    """A <pci>: the bus id of the switch above, or "cpu N", then its attributes."""

    parent: str
    pci_class: str | None
    vendor: str | None
    device: str | None
    subsystem_vendor: str | None
    subsystem_device: str | None
    link_speed: str | None
    link_width: str | None


def told(xml: str) -> dict[str, Device]:
    """The <pci> elements of a topology XML, by bus id."""
    return {
        pci.get("busid", ""): Device(
            holder,
            *(pci.get(key) for key in ("class", "vendor", "device", "subsystem_vendor", "subsystem_device")),
            *(pci.get(key) for key in ("link_speed", "link_width")),
        )
        for cpu in ET.fromstring(xml).iter("cpu")
        for holder, pci in _below(cpu, f"cpu {cpu.get('numaid')}")
    }


def _below(element: ET.Element, name: str) -> Iterator[tuple[str, ET.Element]]:
    for pci in element.findall("pci"):
        yield name, pci
        yield from _below(pci, pci.get("busid", ""))


def built(board: Board, *endpoints: str) -> dict[str, Device]:
    """What has to be told of these functions and of the switches above them."""
    places = {placed.bus_id: placed for placed in layout(board)}
    wanted = [upper for endpoint in endpoints for upper in places[endpoint].path[-1::-2]]
    return {bus_id: _device(places[bus_id]) for bus_id in wanted}


def _device(placed: Placed) -> Device:
    part, path = placed.part, placed.path
    identity = part.identity
    port = placed.upstream.part.link if placed.upstream else None
    speeds = [link.max_gt_per_s for link in (part.link, port) if link and link.max_gt_per_s]
    return Device(
        parent=path[-3] if len(path) > 2 else f"cpu {placed.numa}",
        pci_class=identity.pci_class,
        vendor=identity.vendor,
        device=identity.device,
        subsystem_vendor=identity.subsystem_vendor,
        subsystem_device=identity.subsystem_device,
        link_speed=f"{min(speeds):.1f} GT/s PCIe" if speeds else "Unknown",
        link_width=str(min(part.link.max_width, port.max_width) if port else 0),
    )
