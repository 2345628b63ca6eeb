# SPDX-License-Identifier: Apache-2.0
"""A topology file under inspection: its bytes, its elements with their parents, and the machine to compare with."""

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
        """An attribute as a number, decimal or 0x; None if absent or not a number."""
        text = self.get(key)
        try:
            return None if text is None else to_integer(text, key, None, None)
        except InputError:
            return None

    def nearest(self, name: str) -> Element | None:
        """This element or its nearest ancestor with that tag."""
        return next((one for one in reversed((*self.around, self.element)) if one.name == name), None)

    @property
    def bus_id(self) -> str:
        """The bus id of its PCI device, "?" without one."""
        pci = self.nearest("pci")
        return (pci.get("busid") if pci else None) or "?"

    @property
    def host(self) -> str:
        """Its host, by its CPU's host_hash."""
        cpu = self.nearest("cpu")
        return str(host_of(cpu.get("host_hash") if cpu else None))

    @property
    def key(self) -> tuple[str, int]:
        """Its PCI device: host, and bus id as a number, so that spellings do not matter."""
        return self.host, to_number(self.bus_id)

    def below(self, name: str) -> Iterator["PlacedElement"]:
        """All descendants of that tag, in file order."""
        return (placed for child in self.element.children for placed in _of(name, child, (*self.around, self.element)))

    def holds(self, name: str) -> bool:
        """Whether a child has that tag."""
        return any(True for _ in self.element.all(name))

    @property
    def is_gpu(self) -> bool:
        """Whether a <pci> is a GPU, by its children or its class."""
        return self.holds("gpu") or (self.get("class") or "").startswith(DISPLAY)

    @property
    def is_nic(self) -> bool:
        """Whether a <pci> is a NIC, by its children or its class."""
        return self.holds("nic") or (self.get("class") or "").startswith(NETWORK)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopoFile:
    """The file; `elements` are those that NCCL reads, in file order.

    `machine` is None if the file is checked by itself.
    """

    topology: Topology
    data: bytes
    elements: tuple[PlacedElement, ...]
    machine: Machine | None = None

    @property
    def inventory(self) -> MachineFacts | None:
        """The machine's facts; None also if a topology file stands in for it."""
        return self.machine.facts if self.machine else None

    def all(self, name: str) -> Iterator[PlacedElement]:
        """The elements of that tag, in file order."""
        return (placed for placed in self.elements if placed.name == name)

    @property
    def heard(self) -> Topology:
        """The topology with only the elements that NCCL reads."""
        return replace(self.topology, root=self.elements[0].element)

    def on_machine(self, name: str) -> Iterator[PlacedElement]:
        """The elements of that tag in the machine's topology; none without a machine."""
        return _of(name, self.machine.topology.root) if self.machine else iter(())


def read(path: str, machine: Machine | None = None) -> TopoFile:
    """Read a topology file; InputError with the line if it is not one."""
    return parsed(_topology_bytes(path), path, machine)


def parsed(data: bytes, path: str, machine: Machine | None = None) -> TopoFile:
    """A topology file from its bytes; InputError as `read`."""
    topology = topology_file.loads(data, path)
    return TopoFile(
        topology=topology,
        data=data,
        elements=tuple(place(_heard(topology.root))),
        machine=machine,
    )


def of_machine(machine: Machine) -> TopoFile:
    """The file that `topo dump` would write for a machine, with that machine."""
    topology = machine.topology
    return TopoFile(
        topology=topology,
        data=topology_file.dumps(topology).encode(),
        elements=tuple(place(topology.root)),
        machine=machine if machine.facts else None,
    )


def _topology_bytes(path: str) -> bytes:
    """The bytes of a file; InputError if it is unreadable, or another kind of source for --from."""
    if not _names_machine(path):
        data = read_bytes(path, MAX_BYTES)
        if not is_archive(data):
            return data
    dump = f"railgauge topo dump --from {shlex.quote(path)} -o FILE"
    raise InputError(f"a machine, not a topology file; write one with: {dump}", path)


def _names_machine(path: str) -> bool:
    """Whether it is a fixture, a folder or a description."""
    is_fixture = path.startswith("@") and not os.path.exists(path)
    return is_fixture or os.path.isdir(path) or path.endswith(".toml")


def _heard(element: Element) -> Element:
    """What NCCL reads of an element: the children that it knows there, and attributes up to its limit."""
    known = (child for child in element.children if child.name in HOLDS.get(element.name, ()))
    return replace(element, attributes=element.attributes[:MOST_ATTRIBUTES], children=tuple(map(_heard, known)))


def _of(name: str, element: Element, around: tuple[Element, ...] = ()) -> Iterator[PlacedElement]:
    return (placed for placed in place(element, around) if placed.name == name)


def place(element: Element, around: tuple[Element, ...] = ()) -> Iterator[PlacedElement]:
    """The element and its descendants, each with its ancestors."""
    yield PlacedElement(element=element, around=around)
    for child in element.children:
        yield from place(child, (*around, element))
