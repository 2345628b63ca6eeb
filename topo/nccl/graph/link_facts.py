# SPDX-License-Identifier: Apache-2.0
"""The links of a topology, and of the machine that it is of, as the judge takes them (topo/link_state/)."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.pci_devices import gpus
from railgauge.topo.facts.sources.nvml import NvmlGpu
from railgauge.topo.facts.sources.pci_functions import PciFunction, best_link
from railgauge.topo.link_state.nvlink import MESH_LEAST, NvlinkGpu, NvlinkState, NvmlLinks, judge_nvlinks
from railgauge.topo.link_state.pcie import RESTING, EndpointKind, PciLink, PciState, Rate, judge_pci
from railgauge.topo.link_state.verdict import Key
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.nccl.graph.gfx import gfx_name
from railgauge.topo.values.busid import to_number
from railgauge.topo.values.number import strtol, whole
from railgauge.topo.values.pci_class import GPUS, NETWORK, NVLINK_BRIDGE, NVSWITCH
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.placed_element import host_of
from railgauge.topo.xml.topology import PciRate, Topology

SPEED = re.compile(r"\s*(\d+(?:\.\d+)?) GT/s")
HOST = "0"  # of a topology that names none
ROOT_PORT = 1  # its place in a function's path, after the host bridge


def pci_states(topology: Topology, inventory: MachineFacts | None = None) -> list[PciState]:
    """The state of each PCIe link: above every <pci> in file order, then of the GPUs, RDMA NICs and switches above them
    that the machine has besides.
    """
    links = pci_links(topology, inventory)
    if inventory:
        functions = _functions(inventory)
        known, host = {link.key[1] for link in links}, links[0].key[0] if links else HOST
        cards = {card.bus_id: card for card in (*gpus(inventory), *nics(inventory), *uplinks(inventory))}
        links += [_of_function(host, card, functions) for card in cards.values() if to_number(card.bus_id) not in known]
    return judge_pci(links)


def running(topology: Topology, inventory: MachineFacts | None = None) -> Topology:
    """The topology with the links that run slower than its tree holds; as it is where that is known already."""
    if topology.now is not None:
        return topology
    held = {state.link.key: state for state in pci_states(topology, inventory) if state.held != Rate()}
    return replace(topology, now={key: _now(state) for key, state in held.items()})


def _now(state: PciState) -> PciRate:
    """What a link is held at; the rest as the tree holds it."""
    held, link = state.held, state.link
    return PciRate(speed_text(held.gt_per_s or link.can.gt_per_s), held.lanes or link.can.lanes or 0)


def speed_text(gt_per_s: float | None) -> str:
    """A speed as sysfs and the XML spell it, "32.0 GT/s PCIe"; "" when unknown."""
    return f"{gt_per_s:.1f} GT/s PCIe" if gt_per_s else ""


def pci_links(topology: Topology, inventory: MachineFacts | None = None) -> list[PciLink]:
    """The link above each <pci>, in file order."""
    functions = _functions(inventory)
    numbers = {to_number(bus_id): function for bus_id, function in functions.items()}
    rdma = {device.bus_id for device in inventory.rdma} if inventory else set()
    links: list[PciLink] = []
    for pci, host, above in _placed(topology.root, HOST, None, count()):
        link = _link(pci, host, above)
        function = numbers.get(link.key[1])
        if function and (link.kind is not EndpointKind.NIC or function.bus_id in rdma or _has_link(function)):
            link = _measured(link, function, functions)
        links.append(link)
    return links


def _placed(
    element: Element, host: str, above: int | None, numbers: Iterator[int]
) -> Iterator[tuple[Element, str, int | None]]:
    """Every <pci> with its host and the place of the <pci> that it hangs on."""
    if element.name == "cpu":
        host = str(host_of(element.get("host_hash")))
    if element.name == "pci":
        yield element, host, above
        above = next(numbers)
    for child in element.children:
        yield from _placed(child, host, above, numbers)


def _link(pci: Element, host: str, above: int | None) -> PciLink:
    bus_id, speed, lanes = (
        pci.get("busid") or "?",
        pci.get("link_speed") or "",
        max(strtol(pci.get("link_width") or "") or 0, 0) or None,
    )
    found = SPEED.match(speed)
    ids = pci.get("vendor"), pci.get("device")
    nets = [net for nic in pci.all("nic") for net in nic.all("net") if net.get("net") != "0"]
    speeds = [max(whole(net.get("speed")) or 0, 0) / 1000 for net in nets]
    return PciLink(
        key=(host, to_number(bus_id)),
        bus_id=bus_id,
        kind=_kind(pci),
        model=(ids[0], ids[1]) if ids[0] and ids[1] else None,
        can=Rate(gt_per_s=float(found[1]) if found else None, lanes=lanes),
        gb_per_s=bandwidth.pci(speed, lanes or 0),
        above=above,
        port_gbps=max(speeds, default=0.0),
        ports_gbps=sum(speeds),
        c2c=any(one.name == "c2c" for gpu in pci.all("gpu") for one in gpu.children),
        line=pci.line,
    )


def _kind(pci: Element) -> EndpointKind:
    """What a <pci> is by what it holds, else by its class."""
    pci_class = pci.get("class") or ""
    if any(pci.all("gpu")):
        return EndpointKind.GPU
    if any(pci.all("nic")):
        return EndpointKind.NIC
    return _kind_of(pci_class, switch=any(pci.all("pci")))


def _kind_of(pci_class: str, *, switch: bool) -> EndpointKind:
    kinds: tuple[tuple[str | tuple[str, ...], EndpointKind], ...] = (
        (GPUS, EndpointKind.GPU),
        (NETWORK, EndpointKind.NIC),
        (NVSWITCH, EndpointKind.OTHER),
        (NVLINK_BRIDGE, EndpointKind.OTHER),
    )
    found = next((kind for start, kind in kinds if pci_class.startswith(start)), None)
    return found or (EndpointKind.SWITCH if switch else EndpointKind.OTHER)


def _functions(inventory: MachineFacts | None) -> dict[str, PciFunction]:
    return {function.bus_id: function for function in inventory.pci} if inventory else {}


def _measured(link: PciLink, function: PciFunction, functions: Mapping[str, PciFunction]) -> PciLink:
    """The facts with what sysfs adds to them."""
    now = Rate(gt_per_s=function.link.gt_per_s, lanes=function.link.lanes)
    return link._replace(now=now, ends=_ends(function, functions), virtual=function.physfn is not None)


def _ends(function: PciFunction, functions: Mapping[str, PciFunction]) -> Rate:
    speed, lanes = best_link(function, functions.get(function.parent or ""))
    return Rate(gt_per_s=speed, lanes=lanes)


def _has_link(function: PciFunction) -> bool:
    """Whether sysfs shows a link at all: a paravirtual device has none."""
    link = function.link
    return any(fact is not None for fact in (link.lanes, link.max_lanes, link.gt_per_s, link.max_gt_per_s))


def _of_function(host: str, function: PciFunction, functions: Mapping[str, PciFunction]) -> PciLink:
    """The link above a function that is not in the topology."""
    ends = _ends(function, functions)
    link = PciLink(
        key=(host, to_number(function.bus_id)),
        bus_id=function.bus_id,
        kind=_kind_of(function.pci_class or "", switch=True),
        model=(function.vendor, function.device) if function.vendor and function.device else None,
        can=ends,
        gb_per_s=bandwidth.pci(speed_text(ends.gt_per_s), ends.lanes or 0),
    )
    return _measured(link, function, functions)


def ends_at_rest(inventory: MachineFacts) -> set[str]:
    """Both ends, by bus id, of the links whose speed is no fact about them, since it falls when the device rests."""
    links = ((one, _kind_of(one.pci_class or "", switch=True)) for one in inventory.pci)
    return {bus_id for one, kind in links if kind in RESTING for bus_id in one.path[-2:]}


def nics(inventory: MachineFacts) -> list[PciFunction]:
    """The PCI functions of RDMA devices."""
    found = (inventory.function(device.bus_id) for device in inventory.rdma)
    return [one for one in found if one is not None]


def uplinks(inventory: MachineFacts) -> list[PciFunction]:
    """The upstream ports of the switches above GPUs and RDMA NICs, in the order of their bus ids."""
    paths = [one.path for one in (*gpus(inventory), *nics(inventory))]
    wanted = {bus_id for path in paths for bus_id in path[ROOT_PORT + 1 : -1 : 2]}
    return [one for one in inventory.pci if one.bus_id in wanted]


def nvlink_states(topology: Topology, inventory: MachineFacts | None = None) -> dict[Key, NvlinkState]:
    """The state of the NVLinks of each GPU by host and bus id."""
    return judge_nvlinks(nvlink_gpus(topology, inventory))


def nvlink_gpus(topology: Topology, inventory: MachineFacts | None = None) -> list[NvlinkGpu]:
    """The first <gpu> of each <pci> of each host with its NVLinks, in file order."""
    listed = {to_number(gpu.bus_id): gpu for gpu in inventory.gpus} if inventory else {}
    found: dict[Key, NvlinkGpu] = {}
    for pci, host, _ in _placed(topology.root, HOST, None, count()):
        key = host, to_number(pci.get("busid") or "")
        gpu = next(pci.all("gpu"), None)
        if gpu is None or key in found:
            continue
        nvml = listed.get(key[1])
        found[key] = replace(
            _nvlinks(gpu, key, pci.get("busid") or "?"),
            nvml=_nvml(nvml, inventory) if nvml and inventory and inventory.no_nvml is None else None,
            model=pci.get("device") or "",
            mig=bool(nvml and nvml.mig),
        )
    return list(found.values())


def _nvlinks(gpu: Element, key: Key, bus_id: str) -> NvlinkGpu:
    peers: dict[Key, int] = {}
    total, switched = 0, True
    for link in gpu.all("nvlink"):
        number, kind = strtol(link.get("count") or "") or 0, link.get("tclass") or ""
        total += number
        switched = switched and not kind.startswith((*GPUS, NVLINK_BRIDGE))
        if kind.startswith(GPUS) and (target := link.get("target")) is not None:
            other = key[0], to_number(target)
            peers[other] = peers.get(other, 0) + number
    return NvlinkGpu(
        key=key,
        bus_id=bus_id,
        gfx=gfx_name(gpu.get("gcn")),
        sm=0 if gpu.get("gcn") else strtol(gpu.get("sm") or "") or 0,
        count=total,
        peers=peers,
        switched=switched,
    )


def _nvml(gpu: NvmlGpu, inventory: MachineFacts) -> NvmlLinks:
    return NvmlLinks(
        listed=sum(link.up is not None for link in gpu.links),
        up=sum(link.up is True for link in gpu.links),
        cut=sum(link.up is False and bool(link.remote or link.remote_kind) for link in gpu.links),
        connected=_is_connected(gpu, inventory),
        cut_to=Counter(link.remote for link in gpu.links if link.up is False and link.remote),
    )


def _is_connected(gpu: NvmlGpu, inventory: MachineFacts) -> bool:
    """Whether links that are all down should be up: without a bridge a PCIe card's are down for good, unless it is
    the only one among several.
    """
    known_end = any(link.remote or link.remote_kind for link in gpu.links)
    in_fabric = bool(gpu.fabric and gpu.fabric.state)
    others = [one for one in inventory.gpus if one.sm == gpu.sm and one is not gpu]
    alone = len(others) >= MESH_LEAST and all(any(link.up for link in one.links) for one in others)
    return known_end or in_fabric or alone or any((one.pci_class or "").startswith(NVSWITCH) for one in inventory.pci)
