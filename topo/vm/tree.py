# SPDX-License-Identifier: Apache-2.0
"""The host's PCI tree with the VM's devices in it: their bus ids, at the places and with the links of the host's.

GPUs and NICs are leaves without <gpu> and <net>: NCCL finds them by bus id and gets the rest, NVLinks included, from
NVML and its network plugin. A NIC is named if NCCL would look for it under another bus id: its IB plugin takes all
functions and slots of a bus for one card (`ncclIbGetPciPath`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.detection import Detection
from railgauge.topo.nccl.detect.rank_tree import RankTree
from railgauge.topo.values.busid import to_number
from railgauge.topo.values.pci_class import DISPLAY
from railgauge.topo.vm.cpus import Cpu
from railgauge.topo.vm.device import IDS
from railgauge.topo.vm.match import Match
from railgauge.topo.xml.tree import ElementBuilder, thaw

CPU_KIND = ("arch", "vendor", "familyid", "modelid")  # NCCL takes the speed between CPUs from the host's
LAST_DOMAIN = 0xFFFF
DOMAIN_BITS = 20  # a bus id's number without its domain


def host_places(host: Machine, bus_ids: Iterable[str]) -> Mapping[str, ElementBuilder]:
    """The <pci> of each of these functions of a host, in one tree with all that is above them."""
    if host.reader is None:
        found = {(node.get("busid") or "").lower(): node for node in thaw(host.topology.root).walk()}
        return {bus_id: found[bus_id] for bus_id in bus_ids}
    tree = RankTree(Detection(host.reader, {}))
    return {bus_id: tree.device(bus_id, DISPLAY) for bus_id in bus_ids}


def numa_id(place: ElementBuilder) -> str:
    """The number of the NUMA node that a <pci> hangs on, or that a <cpu> is; InputError if there is none."""
    cpu = next(one for one in (place, *place.above()) if one.name == "cpu")
    return str(cpu.integer("numaid", None, -1))


class GuestTree:
    """A growing file. `cpus` are the <cpu> by the host's numaid; `taken` are the VM's bus ids as numbers, or its
    domains if not all bus ids are known.
    """

    def __init__(self, cpus: Mapping[str, Cpu], taken: Collection[int], *, by_domain: bool) -> None:
        self.root = ElementBuilder("system", [("version", "1")])
        self._cpus = cpus
        self._taken = taken
        self._by_domain = by_domain
        self._given: set[str] = set()
        self._copies: dict[ElementBuilder, ElementBuilder] = {}

    def add(self, match: Match, place: ElementBuilder, *, named: bool) -> None:
        """Put a VM's device at the host's place, `named` by its RDMA devices."""
        guest = match.guest
        told = (("class", guest.pci_class), *zip(IDS, guest.ids, strict=True))
        leaf = ElementBuilder("pci", place.attributes.items())
        for key, value in (("busid", guest.bus_id), *told):
            if value is not None:
                leaf.put(key, value)
        if named:
            nic = leaf.add("nic")
            for name in guest.rdma:
                nic.add("net", ("name", name))
        if place.parent:
            self._copy(place.parent).insert(leaf)

    def link_switches(self) -> None:
        """Repeat the links between the switches of the host that are in the file."""
        ids = {old.get("busid"): new.get("busid") for old, new in self._copies.items() if old.name == "pci"}
        for old, new in self._copies.items():
            for link in old.all("pcilink"):
                if target := ids.get(link.get("target")):
                    new.add("pcilink", ("target", target))

    def _copy(self, node: ElementBuilder) -> ElementBuilder:
        """The element of the file for a <cpu> or a switch of the host."""
        if node in self._copies:
            return self._copies[node]
        if node.name == "cpu":
            made = self._cpu(node)
        else:
            made = ElementBuilder("pci", node.attributes.items())
            made.put("busid", self._free(node.get("busid") or ""))
            if node.parent:
                self._copy(node.parent).insert(made)
        self._copies[node] = made
        return made

    def _cpu(self, node: ElementBuilder) -> ElementBuilder:
        cpu = self._cpus[numa_id(node)]
        known = self.root.find("cpu", "numaid", cpu.numaid)
        if known:
            return known
        mask = [("affinity", cpu.affinity)] if cpu.affinity else []
        kind = [(key, value) for key in CPU_KIND if (value := node.get(key)) is not None]
        return self.root.add("cpu", ("numaid", cpu.numaid), *mask, *kind)

    def _free(self, bus_id: str) -> str:
        """The host's bus id of a switch; in another domain if the VM uses that bus id."""
        rest, domains = bus_id.partition(":")[2], range(LAST_DOMAIN, 0, -1)
        tried = (bus_id, *(f"{domain:04x}:{rest}" for domain in domains))
        free = next(one for one in tried if self._key(one) not in self._taken and one not in self._given)
        self._given.add(free)
        return free

    def _key(self, bus_id: str) -> int:
        return to_number(bus_id) >> (DOMAIN_BITS if self._by_domain else 0)


def named_alone(match: Match, matches: Sequence[Match]) -> bool:
    """Whether NCCL's IB plugin would look for a NIC's bus id where the file has another card, or none."""
    card = f"{match.guest.bus_id[: -len('00.0')]}00.0"
    if not match.guest.rdma or card == match.guest.bus_id:
        return False
    there = next((one for one in matches if one.guest.bus_id == card), None)
    return there is None or _slot(there) != _slot(match)


def _slot(match: Match) -> str:
    return match.host.place.rpartition(".")[0]
