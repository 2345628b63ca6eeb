# SPDX-License-Identifier: Apache-2.0
"""A machine's topology in NCCL's XML (<system><cpu><pci><gpu|nic>...), plus NUMA facts that the XML has no place for.

Read by xml.py, made by scan.py from the sources, turned into the System graph by system.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from railgauge.topo.values.numa_node import NumaNode
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.placed_element import PlacedElement, place


@dataclass(frozen=True, kw_only=True)
class Topology:
    """The tree below <system>, its file (None for a scan) and the host's NUMA nodes (empty when unknown).

    `allowed` are the cores that the process which scanned it may use, None when unknown.
    """

    root: Element
    path: str | None = None
    numa: tuple[NumaNode, ...] = ()
    allowed: frozenset[int] | None = None

    @cached_property
    def elements(self) -> tuple[PlacedElement, ...]:
        """All elements with their parents, in file order."""
        return tuple(place(self.root))

    def placed(self, name: str) -> Iterator[PlacedElement]:
        """The elements of that tag with their parents, in file order."""
        return (placed for placed in self.elements if placed.name == name)

    @property
    def cpus(self) -> tuple[Element, ...]:
        """The <cpu> elements in order."""
        return tuple(self.root.all("cpu"))

    @property
    def gpus(self) -> tuple[Element, ...]:
        """The <gpu> elements on PCI devices below a <cpu>, in file order."""
        devices = (pci for cpu in self.cpus for pci in cpu.walk() if pci.name == "pci")
        return tuple(gpu for pci in devices for gpu in pci.all("gpu"))
