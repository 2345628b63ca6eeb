# SPDX-License-Identifier: Apache-2.0
"""Makes the topology file of a VM from the facts of host and VM."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from railgauge.topo.errors import InputError
from railgauge.topo.machine import Machine
from railgauge.topo.values.busid import to_number
from railgauge.topo.vm.cpus import Cpu, cpus, numa_cores, parsed_cpu_map
from railgauge.topo.vm.device import VmDevice, devices
from railgauge.topo.vm.match import Match, by_hand, matched, unmatched
from railgauge.topo.vm.tree import DOMAIN_BITS, GuestTree, host_places, named_alone, numa_id
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.placed_element import host_of
from railgauge.topo.xml.topology import Topology
from railgauge.topo.xml.tree import ElementBuilder


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The file's text; the matched devices, and the unmatched ones of VM and host; the <cpu> by host node."""

    text: str
    matches: tuple[Match, ...]
    guest_only: tuple[VmDevice, ...]
    host_only: tuple[VmDevice, ...]
    cpus: Mapping[str, Cpu]


def make(host: Machine, guest: Machine, pairs: Iterable[str] = (), cpu_map: Iterable[str] = ()) -> Made:
    """The file for a VM. pairs: VM=HOST by hand; cpu_map: NODE=CORES, the cores of the VM that run on a node.

    InputError if no device of the VM is found on the host; UsageError for invalid pairs and maps.
    """
    for side, machine in (("VM", guest), ("host", host)):
        if len({host_of(cpu.get("host_hash")) for cpu in machine.topology.cpus}) > 1:
            raise InputError(f"describes several hosts: give only the {side}", machine.topology.path)
    ours, theirs = devices(guest), devices(host)
    matches = matched(ours, theirs, by_hand(pairs, ours, theirs))
    if not matches:
        raise InputError(_strangers(ours, theirs))
    places = host_places(host, {match.host.place: None for match in matches})
    cores = numa_cores(guest.topology)
    used = _nodes(matches, places)
    known = cpus(used, cores, parsed_cpu_map(cpu_map, used, cores))
    tree = GuestTree(known, _taken(guest), by_domain=guest.reader is None)
    for match in matches:
        tree.add(match, places[match.host.place], named=named_alone(match, matches))
    tree.link_switches()
    return Made(
        text=topology_file.dumps(Topology(root=tree.root.freeze())),
        matches=matches,
        guest_only=unmatched(ours, (match.guest for match in matches)),
        host_only=unmatched(theirs, (match.host for match in matches)),
        cpus=known,
    )


def _strangers(guests: Sequence[VmDevice], hosts: Sequence[VmDevice]) -> str:
    names = [", ".join(f"{one.label} {one.model}" for one in side) or "none" for side in (guests, hosts)]
    return (
        f"no device of the VM was found on the host (VM: {names[0]}; host: {names[1]}): name one with --match VM=HOST"
    )


def _nodes(matches: Sequence[Match], places: Mapping[str, ElementBuilder]) -> Mapping[str, frozenset[int | None]]:
    """The VM's NUMA nodes of its devices, by the host's node of these."""
    found: dict[str, set[int | None]] = {}
    for match in matches:
        found.setdefault(numa_id(places[match.host.place]), set()).add(match.guest.numa)
    return {node: frozenset(found[node]) for node in sorted(found, key=int)}


def _taken(guest: Machine) -> frozenset[int]:
    """The bus ids of the VM as numbers; for a topology file, which lacks functions, their domains."""
    inventory = guest.facts
    if inventory is not None:
        return frozenset(to_number(function.bus_id) for function in inventory.pci)
    named = (pci.get("busid") for cpu in guest.topology.cpus for pci in cpu.walk() if pci.name == "pci")
    return frozenset(to_number(bus_id or "") >> DOMAIN_BITS for bus_id in named)
