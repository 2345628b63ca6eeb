# SPDX-License-Identifier: Apache-2.0
"""Makes the topology file of a guest out of what the host and the guest show."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from railgauge.topo.errors import InputError
from railgauge.topo.machine import Machine
from railgauge.topo.values.busid import to_number
from railgauge.topo.vm.cpus import Cpu, cpus, numa_cores, parsed_cpu_map
from railgauge.topo.vm.device import Device, devices
from railgauge.topo.vm.match import Match, by_hand, matched, unmatched
from railgauge.topo.vm.tree import DOMAIN_BITS, GuestTree, host_places, named_alone, numa_id
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.topology import Topology, host_of
from railgauge.topo.xml.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The file's text; which devices were found again, and which of guest and host were not; the <cpu> by host node."""

    text: str
    matches: tuple[Match, ...]
    guest_only: tuple[Device, ...]
    host_only: tuple[Device, ...]
    cpus: Mapping[str, Cpu]


def make(host: Machine, guest: Machine, pairs: Iterable[str] = (), cpu_map: Iterable[str] = ()) -> Made:
    """The file for a guest. pairs: GUEST=HOST by hand; cpu_map: NODE=CORES, which cores of the guest run on a node.

    InputError when no device of the guest is one of the host's; UsageError for pairs and maps that fit neither.
    """
    for side, machine in (("guest", guest), ("host", host)):
        if len({host_of(cpu.get("host_hash")) for cpu in machine.topology.cpus}) > 1:
            raise InputError(f"describes several hosts: give the {side} alone", machine.topology.path)
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


def _strangers(guests: Sequence[Device], hosts: Sequence[Device]) -> str:
    names = [", ".join(f"{one.label} {one.model}" for one in side) or "none" for side in (guests, hosts)]
    return (
        f"no device of the guest is the host's (guest: {names[0]}; host: {names[1]}): --match GUEST=HOST says which is"
    )


def _nodes(matches: Sequence[Match], places: Mapping[str, Tree]) -> Mapping[str, frozenset[int | None]]:
    """The guest's NUMA nodes of its devices, by the host's node that they are on."""
    found: dict[str, set[int | None]] = {}
    for match in matches:
        found.setdefault(numa_id(places[match.host.place]), set()).add(match.guest.numa)
    return {node: frozenset(found[node]) for node in sorted(found, key=int)}


def _taken(guest: Machine) -> frozenset[int]:
    """The bus ids of the guest as numbers; of a topology file, which does not name all functions, the domains."""
    inventory = guest.facts
    if inventory is not None:
        return frozenset(to_number(function.bus_id) for function in inventory.pci)
    named = (pci.get("busid") for cpu in guest.topology.cpus for pci in cpu.walk() if pci.name == "pci")
    return frozenset(to_number(bus_id or "") >> DOMAIN_BITS for bus_id in named)
