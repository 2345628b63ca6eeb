# SPDX-License-Identifier: Apache-2.0
"""A machine with a lost GPU or NIC back: as its twin, on the ports that lead to its place."""

from dataclasses import replace
from typing import NamedTuple

from railgauge.topo.errors import UsageError
from railgauge.topo.values.busid import to_number
from railgauge.topo.values.pci_class import NVSWITCH
from railgauge.topo.xml.topology import Topology
from railgauge.topo.xml.tree import ElementBuilder, thaw


class LostPlace(NamedTuple):
    """Where a lost device was. name: in words. path: the bus ids from the host bridge down to it; like: those of a twin
    that is there; numa: the NUMA node, for devices without a switch in common with others.
    """

    name: str
    path: tuple[str, ...]
    like: tuple[str, ...]
    numa: int | None


def restored(topology: Topology, place: LostPlace) -> Topology:
    """The topology with the device back; UsageError where its links are unknown, or it is there."""
    root = thaw(topology.root)
    here = {one.get("busid"): one for one in root.walk() if one.name == "pci"}
    if place.path[-1] in here or place.like[-1] not in here:
        raise UsageError(f"{place.path[-1]}: not a lost device with a twin")
    above = root.find("cpu", "numaid", str(place.numa))
    for mine, theirs in zip(place.path, place.like, strict=True):
        if mine in here:
            above = here[mine]
        elif theirs in here:
            above = _below(above, mine, here[theirs])
    assert above is not None
    for child in here[place.like[-1]].children:
        _revive(above.append(_copy(child)), root, place.name)
    _number(root)
    return replace(topology, root=root.freeze())


def _below(above: ElementBuilder | None, bus_id: str, twin: ElementBuilder) -> ElementBuilder:
    if above is None:
        raise UsageError(f"{bus_id}: its place is unknown")
    made = ElementBuilder("pci", [*twin.attributes.items()])
    made.put("busid", bus_id)
    above.insert(made)
    return made


def _copy(one: ElementBuilder) -> ElementBuilder:
    made = ElementBuilder(one.name, one.attributes.items())
    for child in one.children:
        made.append(_copy(child))
    return made


def _revive(one: ElementBuilder, root: ElementBuilder, name: str) -> None:
    """A copy as a device of its own: another name and GUID, NVLinks to switches, and to GPUs that have some to it."""
    bus_id = (one.parent.get("busid") if one.parent else None) or ""
    for net in (each for each in one.walk() if each.name == "net"):
        net.put("name", name)
        net.put("guid", hex(1 << 63 | to_number(bus_id)))
    if one.name == "gpu":
        direct = [link for link in one.all("nvlink") if not (link.get("tclass") or "").startswith(NVSWITCH)]
        ends = _ends(root, bus_id)
        if direct and not ends:
            raise UsageError(f"{bus_id}: its NVLinks to other GPUs are unknown")
        one.children = [child for child in one.children if child not in direct]
        for gpu, link in ends:
            target = (gpu.parent.get("busid") if gpu.parent else None) or ""
            one.append(ElementBuilder("nvlink", link.attributes.items())).put("target", target)


def _ends(root: ElementBuilder, bus_id: str) -> list[tuple[ElementBuilder, ElementBuilder]]:
    """The other GPUs with their NVLinks to a bus id."""
    gpus = [one for one in root.walk() if one.name == "gpu"]
    links = [(gpu, link) for gpu in gpus for link in gpu.all("nvlink")]
    return [(gpu, link) for gpu, link in links if to_number(link.get("target") or "0") == to_number(bus_id)]


def _number(root: ElementBuilder) -> None:
    """Number GPUs and NICs by bus id, as NVML and the IB plugin number them."""
    for name in ("gpu", "net"):
        found = [one for one in root.walk() if one.name == name]
        for number, one in enumerate(sorted(found, key=_order)):
            one.put("dev", str(number))
            if one.get("rank") not in (None, "-1"):
                one.put("rank", str(number))


def _order(one: ElementBuilder) -> tuple[int, int]:
    pci = next((above for above in one.above() if above.name == "pci"), None)
    return to_number((pci.get("busid") if pci else None) or "0"), int(one.get("port") or 0)
