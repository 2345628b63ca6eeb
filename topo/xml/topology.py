# SPDX-License-Identifier: Apache-2.0
"""A machine's topology in NCCL's XML (<system><cpu><pci><gpu|nic>...), plus NUMA facts that the XML has no place for.

Read by xml.py, made by scan.py from the sources, turned into the System graph by system.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from railgauge.topo.values.numa_node import NumaNode
from railgauge.topo.xml.element import Element


class PciRate(NamedTuple):
    """What a PCIe link runs at, as the XML spells what it can do: link_speed ("32.0 GT/s PCIe") and link_width."""

    speed: str
    lanes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The tree below <system>, its file (None for a scan) and the host's NUMA nodes (empty when unknown).

    `allowed` are the cores that the process which scanned it may use, None when unknown. `now`: the PCIe links that run
    slower than the tree holds, which has what they can do, by host and bus id as a number (link_state.Key); None where
    nobody asked.
    """

    root: Element
    path: str | None = None
    numa: tuple[NumaNode, ...] = ()
    allowed: frozenset[int] | None = None
    now: Mapping[tuple[str, int], PciRate] | None = None

    @property
    def cpus(self) -> tuple[Element, ...]:
        """The <cpu> elements in order."""
        return tuple(self.root.all("cpu"))

    @property
    def gpus(self) -> tuple[Element, ...]:
        """The <gpu> elements on PCI devices below a <cpu>, in file order."""
        devices = (pci for cpu in self.cpus for pci in cpu.walk() if pci.name == "pci")
        return tuple(gpu for pci in devices for gpu in pci.all("gpu"))


def host_of(host_hash: str | None) -> int | str:
    """The host that a <cpu> is on by its host_hash: its number, 0 without one (`ncclGetSystemId`).

    Text that is no number stays text: published files have placeholders there.
    """
    try:
        return int(host_hash or "0", 16)
    except ValueError:
        return host_hash or ""
