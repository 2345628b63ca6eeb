# SPDX-License-Identifier: Apache-2.0
"""An element of a topology and the ones around it: its PCI device, its CPU, its host."""

from collections.abc import Iterator
from dataclasses import dataclass

from railgauge.topo.errors import InputError
from railgauge.topo.values.busid import to_number
from railgauge.topo.values.pci_class import GPUS, NETWORK
from railgauge.topo.xml.element import Element, to_integer


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
        return (
            placed
            for child in self.element.children
            for placed in place(child, (*self.around, self.element))
            if placed.name == name
        )

    def holds(self, name: str) -> bool:
        """Whether a child has that tag."""
        return any(True for _ in self.element.all(name))

    @property
    def is_gpu(self) -> bool:
        """Whether a <pci> is a GPU, by its children or its class."""
        return self.holds("gpu") or (self.get("class") or "").startswith(GPUS)

    @property
    def is_nic(self) -> bool:
        """Whether a <pci> is a NIC, by its children or its class."""
        return self.holds("nic") or (self.get("class") or "").startswith(NETWORK)


def place(element: Element, around: tuple[Element, ...] = ()) -> Iterator[PlacedElement]:
    """The element and its descendants, each with its ancestors."""
    yield PlacedElement(element=element, around=around)
    for child in element.children:
        yield from place(child, (*around, element))


def host_of(host_hash: str | None) -> int | str:
    """The host that a <cpu> is on by its host_hash: its number, 0 without one (`ncclGetSystemId`).

    Text that is no number stays text: published files have placeholders there.
    """
    try:
        return int(host_hash or "0", 16)
    except ValueError:
        return host_hash or ""
