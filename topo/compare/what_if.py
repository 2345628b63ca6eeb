# SPDX-License-Identifier: Apache-2.0
"""Edits of a machine: pure functions of a Topology, named as on the command line.

NIC2.width=8   GPU3.speed=16 GT/s   0000:17:00.0.max_width=8   NIC1.rate=200 (Gb/s)   NIC1.gdr=0   GPU3.nvlinks=16
drop: NIC1   GPU7   nvlink:GPU3-GPU5 (all NVLinks between them)   nvlink:GPU3 (one of its links to the NVSwitches)

width and speed are what a link runs at, of which NCCL does not know: it plans with what both ends can do, max_width and
max_speed. Those are raised with what the link runs at.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from railgauge.topo.compare.mesh_links import put_back
from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.nccl.graph.bandwidth import PCI_LANES_UNKNOWN
from railgauge.topo.nccl.graph.ends import find_end, names_of
from railgauge.topo.nccl.graph.model import Node, NodeKind, System
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.values.busid import is_bus_id, to_number
from railgauge.topo.values.pci_class import NVSWITCH
from railgauge.topo.xml.placed_element import host_of
from railgauge.topo.xml.topology import PciRate, Topology
from railgauge.topo.xml.tree import ElementBuilder, thaw

WIDTHS = (1, 2, 4, 8, 12, 16, 32)  # lanes of a PCIe link
SPEED = re.compile(r"(?P<rate>[0-9]+(\.[0-9])?) ?GT/s( PCIe)?", re.IGNORECASE)
GENERATIONS = {"gen1": "2.5", "gen2": "5.0", "gen3": "8.0", "gen4": "16.0", "gen5": "32.0", "gen6": "64.0"}
MOST_GBPS = 100_000
LINK = ("width", "speed", "max_width", "max_speed")
MAX = "max_"
PROPERTIES = ("width", "speed", "rate", "gdr", "nvlinks", "max_width", "max_speed")
NVLINK = "nvlink:"


def edited(topology: Topology, sets: Iterable[str] = (), drops: Iterable[str] = ()) -> Topology:
    """The topology after all edits, the sets first; UsageError for an unknown name or invalid value."""
    for text in sets:
        topology = changed(topology, text)
    names = build_system(topology)  # before any drop, so that names do not change
    for text in drops:
        topology = without(topology, names, text)
    return topology


def on_gpus(topology: Topology, sets: Iterable[str] = (), drops: Iterable[str] = ()) -> tuple[str, ...]:
    """The edits that concern a GPU or its NVLinks; UsageError for an unknown name."""
    system = build_system(topology)
    named = [(f"--set {text}", text.partition("=")[0].rpartition(".")[0]) for text in sets]
    named += [(f"--drop {text}", text.removeprefix(NVLINK).partition("-")[0]) for text in drops]
    return tuple(edit for edit, name in named if _is_gpu(system, name))


def _is_gpu(system: System, name: str) -> bool:
    return not is_bus_id(name) and find_end(system, name).kind is NodeKind.GPU


def changed(topology: Topology, text: str) -> Topology:
    """The topology with one property set: NAME.PROPERTY=VALUE."""
    target, equals, value = text.partition("=")
    name, dot, key = target.rpartition(".")
    if not (equals and dot) or key not in PROPERTIES:
        raise UsageError(f"--set {text!r}: expected NAME.PROPERTY=VALUE with PROPERTY one of {', '.join(PROPERTIES)}")
    root = thaw(topology.root)
    if key in LINK:
        return _with_link(topology, root, _link_of(topology, root, name, text), key, value, text)
    put = {"rate": _put_rate, "gdr": _put_gdr, "nvlinks": _put_nvlinks}[key]
    put(_find(root, build_system(topology), name), value, text)
    return replace(topology, root=root.freeze())


def _link_of(topology: Topology, root: ElementBuilder, name: str, text: str) -> ElementBuilder:
    """The <pci> below the link of that name."""
    number = to_number(name) if is_bus_id(name) else None
    found = (one for one in root.walk() if one.name == "pci" and to_number(one.get("busid") or "0") == number)
    return next(found, None) or _device(_find(root, build_system(topology), name), text)


def _with_link(
    topology: Topology, root: ElementBuilder, pci: ElementBuilder, key: str, value: str, text: str
) -> Topology:
    """The topology with a link that runs at a width or speed, or can do no more than that."""
    cpu = next(above for above in pci.above() if above.name == "cpu")
    place = str(host_of(cpu.get("host_hash"))), to_number(pci.get("busid") or "")
    can = PciRate(pci.get("link_speed") or "", pci.integer("link_width", None) or PCI_LANES_UNKNOWN)
    is_width = key.endswith("width")
    wanted = can._replace(lanes=_lanes(value, text)) if is_width else can._replace(speed=_speed(value, text))
    now = dict(topology.now or {})
    if key.startswith(MAX) or bandwidth.pci(*wanted) > bandwidth.pci(*can):
        pci.put(*(("link_width", str(wanted.lanes)) if is_width else ("link_speed", wanted.speed)))
    if not key.startswith(MAX):
        runs = now.get(place, can)
        now[place] = runs._replace(lanes=wanted.lanes) if is_width else runs._replace(speed=wanted.speed)
    return replace(topology, root=root.freeze(), now=now)


def without(topology: Topology, names: System, text: str) -> Topology:
    """The topology without a NIC, a GPU or NVLinks; `names` is the System that defines the names."""
    root = thaw(topology.root)
    if text.startswith(NVLINK):
        ends = text.removeprefix(NVLINK).split("-")
        _drop_nvlinks(root, names, ends, text)
    else:
        _drop_device(root, _find(root, names, text), text)
    return replace(topology, root=root.freeze())


def _find(root: ElementBuilder, system: System, name: str) -> ElementBuilder:
    """The <gpu> or <net> of a name, or the <pci> of a switch's bus id."""
    if is_bus_id(name):
        found = next((one for one in root.walk() if to_number(one.get("busid") or "0") == to_number(name)), None)
        held = next((one for one in (found.children if found else ()) if one.name in ("gpu", "nic")), None)
        if found is not None and held is None:
            return found
    return _element(root, find_end(system, name))


def _element(root: ElementBuilder, node: Node) -> ElementBuilder:
    cpus = list(root.all("cpu"))
    hosts = list(dict.fromkeys(host_of(cpu.get("host_hash")) for cpu in cpus))
    here = (one for cpu in cpus if hosts.index(host_of(cpu.get("host_hash"))) == node.system for one in cpu.walk())
    for one in here:
        above = one.parent.get("busid") if one.parent else None
        if (
            node.kind is NodeKind.NET
            and one.name == "net"
            and one.get("dev") == str(node.dev)
            and one.get("net") != "0"
        ):
            return one
        same = above is not None and node.bus_id is not None and to_number(above) == to_number(node.bus_id)
        if node.kind is NodeKind.GPU and one.name == "gpu" and same and one.get("dev") in (str(node.dev), None):
            return one
    name = "/".join(names_of(node)) or node.id
    if node.kind in (NodeKind.GPU, NodeKind.NET):
        raise UsageError(f"{name} is dropped already")
    raise UsageError(f"{name} cannot be edited: only GPUs, NICs and PCI switches can")


def _device(one: ElementBuilder, text: str) -> ElementBuilder:
    """The PCI device that an element is on."""
    found = one if one.name == "pci" else next((above for above in one.above() if above.name == "pci"), None)
    if found is None:
        raise UsageError(f"--set {text!r}: it is not on a PCI device, so it has no link")
    return found


def _lanes(value: str, text: str) -> int:
    if value not in map(str, WIDTHS):
        raise UsageError(f"--set {text!r}: expected a width of {', '.join(map(str, WIDTHS))} lanes")
    return int(value)


def _speed(value: str, text: str) -> str:
    found = SPEED.fullmatch(value.strip())
    rate = GENERATIONS.get(value.strip().lower()) or (f"{float(found['rate']):.1f}" if found else "")
    if rate not in GENERATIONS.values():
        speeds = ", ".join(f"{rate} GT/s ({name})" for name, rate in GENERATIONS.items())
        raise UsageError(f"--set {text!r}: expected a speed of {speeds}")
    return f"{rate} GT/s PCIe"


def _put_rate(one: ElementBuilder, value: str, text: str) -> None:
    if one.name != "net" or not re.fullmatch(r"[0-9]{1,6}", value) or not 1 <= int(value) <= MOST_GBPS:
        raise UsageError(f"--set {text!r}: rate needs a NIC and a value in Gb/s from 1 to {MOST_GBPS}")
    one.put("speed", str(int(value) * 1000))


def _put_gdr(one: ElementBuilder, value: str, text: str) -> None:
    if one.name == "pci" or value not in ("0", "1"):
        raise UsageError(f"--set {text!r}: gdr needs a NIC or a GPU and the value 0 or 1")
    one.put("gdr", value)


def _put_nvlinks(one: ElementBuilder, value: str, text: str) -> None:
    """As many links to the NVSwitches as the GPU that has most of them has, or fewer; in a mesh those that it lacks."""
    root = [one, *one.above()][-1]
    fullest = max((gpu for gpu in root.walk() if gpu.name == "gpu"), key=_switched, default=one)
    most = _switched(fullest)
    if one.name == "gpu" and not most and value.isdecimal() and put_back(one, int(value)):
        return
    if one.name != "gpu" or not most or not value.isdecimal() or not int(value) <= most:
        raise UsageError(
            f"--set {text!r}: nvlinks needs a GPU with NVSwitches and a value up to its {most} links, "
            "or one of a mesh whose other GPUs tell where its missing links lead"
        )
    if int(value) > _switched(one):
        one.children = [link for link in one.children if link not in _to_switch(one)]
        for link in _to_switch(fullest):
            one.append(ElementBuilder(link.name, link.attributes.items()))
    for _ in range(_switched(one) - int(value)):
        _take_one(one)


def _drop_device(root: ElementBuilder, one: ElementBuilder, text: str) -> None:
    if one.name == "pci":
        raise UsageError(
            f"--drop {text}: only a GPU, a NIC or NVLinks can be dropped; set the width of a switch instead"
        )
    if one.name == "gpu":
        bus_id = one.parent.get("busid") if one.parent else None
        for gpu in [found for found in root.walk() if found.name == "gpu"]:
            gpu.children = [link for link in gpu.children if link.get("target") != bus_id]
    if one.parent is not None:
        one.parent.children.remove(one)


def _drop_nvlinks(root: ElementBuilder, system: System, ends: list[str], text: str) -> None:
    if len(ends) > 2:
        raise UsageError(f"--drop {text}: give nvlink:GPU3-GPU5, or nvlink:GPU3 for one of its links to the switch")
    gpus = [_find(root, system, end) for end in ends]
    if any(gpu.name != "gpu" for gpu in gpus):
        raise UsageError(f"--drop {text}: only GPUs have NVLinks")
    if len(gpus) == 2:
        _drop_between(gpus[0], gpus[1], text)
    elif _to_switch(gpus[0]):
        _take_one(gpus[0])
    else:
        raise UsageError(f"--drop {text}: it has no NVLink to a switch; name both ends, e.g. nvlink:GPU3-GPU5")


def _drop_between(one: ElementBuilder, other: ElementBuilder, text: str) -> None:
    ends = [(one, _device(other, text).get("busid")), (other, _device(one, text).get("busid"))]
    found = [(gpu, link) for gpu, target in ends for link in gpu.all("nvlink") if link.get("target") == target]
    if not found:
        switched = " of their own: both are on NVSwitches; nvlink:GPU drops one link of a GPU" * bool(
            _to_switch(one) and _to_switch(other)
        )
        raise UsageError(f"--drop {text}: they have no NVLink between them{switched}")
    for gpu, link in found:
        gpu.children.remove(link)


def _to_switch(gpu: ElementBuilder) -> list[ElementBuilder]:
    return [link for link in gpu.all("nvlink") if (link.get("tclass") or "").startswith(NVSWITCH)]


def _switched(gpu: ElementBuilder) -> int:
    return sum(map(_count, _to_switch(gpu)))


def _take_one(gpu: ElementBuilder) -> None:
    """Remove one link to a switch, from the largest bundle."""
    link = max(_to_switch(gpu), key=_count)
    link.put("count", str(_count(link) - 1))
    if _count(link) == 0:
        gpu.children.remove(link)


def _count(link: ElementBuilder) -> int:
    return link.integer("count", None)
