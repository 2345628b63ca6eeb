# SPDX-License-Identifier: Apache-2.0
"""A topology file under inspection: its bytes, its elements with what each lies in, and the machine beside it."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

from railgauge.topo.errors import InputError
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.pci_class import DISPLAY, NETWORK
from railgauge.topo.files.compression import is_archive
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.findings.topology_file.nccl_parser import MOST_ATTRIBUTES
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.topo_file import HOLDS
from railgauge.topo.values.busid import to_number
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.element import Element, to_integer
from railgauge.topo.xml.text import MAX_BYTES
from railgauge.topo.xml.topology import Topology, host_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedElement:
    """An element and the ones around it, outermost first."""

    element: Element
    around: tuple[Element, ...]

    @property
    def name(self) -> str:
        """Its tag."""
        return self.element.name

    @property
    def line(self) -> int | None:
        """Its line in the file, 1-based."""
        return self.element.line

    def get(self, key: str) -> str | None:
        """An attribute's text, None without it."""
        return self.element.get(key)

    def number(self, key: str) -> int | None:
        """An attribute as a number, decimal or 0x; None without it or when it is none."""
        text = self.get(key)
        try:
            return None if text is None else to_integer(text, key, None, None)
        except InputError:
            return None

    def nearest(self, name: str) -> Element | None:
        """This element or the innermost around it with that tag."""
        return next((one for one in reversed((*self.around, self.element)) if one.name == name), None)

    @property
    def bus_id(self) -> str:
        """The bus id of the PCI device that it is or belongs to, "?" without one."""
        pci = self.nearest("pci")
        return (pci.get("busid") if pci else None) or "?"

    @property
    def host(self) -> str:
        """Which host of the file it is on, by its CPU's host_hash."""
        cpu = self.nearest("cpu")
        return str(host_of(cpu.get("host_hash") if cpu else None))

    @property
    def key(self) -> tuple[str, int]:
        """Its PCI device: host, and bus id as a number, so that spellings do not matter."""
        return self.host, to_number(self.bus_id)

    def below(self, name: str) -> Iterator["PlacedElement"]:
        """All elements of that tag in this one, at any depth, in file order."""
        return (placed for child in self.element.children for placed in _of(name, child, (*self.around, self.element)))

    def holds(self, name: str) -> bool:
        """Whether a child has that tag."""
        return any(True for _ in self.element.all(name))

    @property
    def is_gpu(self) -> bool:
        """Whether a <pci> is a GPU by what it holds or by its class."""
        return self.holds("gpu") or (self.get("class") or "").startswith(DISPLAY)

    @property
    def is_nic(self) -> bool:
        """Whether a <pci> is a NIC by what it holds or by its class."""
        return self.holds("nic") or (self.get("class") or "").startswith(NETWORK)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopoFile:
    """The file; `elements` are those that NCCL reads, in file order.

    `machine` is None when the file is judged by itself.
    """

    topology: Topology
    data: bytes
    elements: tuple[PlacedElement, ...]
    machine: Machine | None = None

    @property
    def inventory(self) -> MachineFacts | None:
        """What is there on the machine; None also when a topology file speaks for it."""
        return self.machine.facts if self.machine else None

    def all(self, name: str) -> Iterator[PlacedElement]:
        """The elements of that tag, in file order."""
        return (placed for placed in self.elements if placed.name == name)

    @property
    def heard(self) -> Topology:
        """The topology with the elements that NCCL reads alone."""
        return replace(self.topology, root=self.elements[0].element)

    def on_machine(self, name: str) -> Iterator[PlacedElement]:
        """The elements of that tag in the machine's topology; none without a machine."""
        return _of(name, self.machine.topology.root) if self.machine else iter(())


def read(path: str, machine: Machine | None = None) -> TopoFile:
    """Read a topology file; InputError with the line when it is not one."""
    return parsed(_topology_bytes(path), path, machine)


def parsed(data: bytes, path: str, machine: Machine | None = None) -> TopoFile:
    """A topology file of which the bytes are known; InputError as `read`."""
    topology = topology_file.loads(data, path)
    return TopoFile(
        topology=topology,
        data=data,
        elements=tuple(place(_heard(topology.root))),
        machine=machine,
    )


def of_machine(machine: Machine) -> TopoFile:
    """The file that `topo dump` would write of a machine, beside that machine."""
    topology = machine.topology
    return TopoFile(
        topology=topology,
        data=topology_file.dumps(topology).encode(),
        elements=tuple(place(topology.root)),
        machine=machine if machine.facts else None,
    )


def _topology_bytes(path: str) -> bytes:
    """The bytes of a file; InputError when it is unreadable, or another source of a machine that --from takes."""
    if not _names_machine(path):
        data = read_bytes(path, MAX_BYTES)
        if not is_archive(data):
            return data
    dump = f"railgauge topo dump --from {shlex.quote(path)} -o FILE"
    raise InputError(f"a machine, not its topology file: {dump} writes that", path)


def _names_machine(path: str) -> bool:
    """Whether it is a fixture, a folder or a description."""
    is_fixture = path.startswith("@") and not os.path.exists(path)
    return is_fixture or os.path.isdir(path) or path.endswith(".toml")


def _heard(element: Element) -> Element:
    """What NCCL takes of an element: the children that it knows there, and no more attributes than it has room for."""
    known = (child for child in element.children if child.name in HOLDS.get(element.name, ()))
    return replace(element, attributes=element.attributes[:MOST_ATTRIBUTES], children=tuple(map(_heard, known)))


def _of(name: str, element: Element, around: tuple[Element, ...] = ()) -> Iterator[PlacedElement]:
    return (placed for placed in place(element, around) if placed.name == name)


def place(element: Element, around: tuple[Element, ...] = ()) -> Iterator[PlacedElement]:
    """The element and all below it, each with those around it."""
    yield PlacedElement(element=element, around=around)
    for child in element.children:
        yield from place(child, (*around, element))
