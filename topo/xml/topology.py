# SPDX-License-Identifier: Apache-2.0
"""A machine's topology in NCCL's XML (<system><cpu><pci><gpu|nic>...), plus NUMA facts that the XML has no place for.

Read by xml.py, made by scan.py from the sources, turned into the System graph by system.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from railgauge.topo.values.numa_node import NumaNode
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.placed_element import PlacedElement, place


class PciRate(NamedTuple):
    """What a PCIe link runs at, as the XML spells what it can do: link_speed ("32.0 GT/s PCIe") and link_width."""

    speed: str
    lanes: int


@dataclass(frozen=True, kw_only=True)
class Topology:
    """The tree below <system>, its file (None for a scan) and the host's NUMA nodes (empty when unknown).

    `allowed` are the cores that the process which scanned it may use, None when unknown. `now`: the PCIe links that
    run slower than the tree holds, which has what they can do, by host and bus id as a number
    (link_state.verdict.Key); None where nobody asked. `assumed`: the file has GPUs and NICs
    by PCI class alone, and what they are is assumed.
    """

    root: Element
    path: str | None = None
    numa: tuple[NumaNode, ...] = ()
    allowed: frozenset[int] | None = None
    now: Mapping[tuple[str, int], PciRate] | None = None
    assumed: bool = False

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
