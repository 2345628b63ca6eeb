# SPDX-License-Identifier: Apache-2.0
"""What is on the machine beside a file: its elements, and its GPUs and NICs, by bus id as a number.

Those are in its topology, or unused PCI functions.
"""

from collections.abc import Iterator

from railgauge.topo.machine import Machine
from railgauge.topo.values.busid import to_number
from railgauge.topo.values.pci_class import DISPLAY, NETWORK
from railgauge.topo.xml.placed_element import PlacedElement

NVIDIA = "0x10de"  # excludes a server's own VGA controller


def on_machine(file: Machine, name: str) -> Iterator[PlacedElement]:
    """The elements of that tag in the topology of the machine beside a file; none without one."""
    return file.beside.topology.placed(name) if file.beside else iter(())


def gpus_there(file: Machine) -> set[int]:
    """Those of the machine; none without one."""
    return {pci.key[1] for pci in on_machine(file, "pci") if pci.is_gpu} | _functions(file, DISPLAY, NVIDIA)


def nics_there(file: Machine) -> set[int]:
    """Those of the machine; none without one."""
    return {pci.key[1] for pci in on_machine(file, "pci") if pci.is_nic} | _functions(file, NETWORK)


def _functions(file: Machine, kind: str, vendor: str = "") -> set[int]:
    """The PCI functions of a class on the machine; empty for a machine that a file describes."""
    functions = file.facts.pci if file.facts else ()
    of_kind = (one for one in functions if (one.pci_class or "").startswith(kind))
    return {to_number(one.bus_id) for one in of_kind if (one.vendor or "").startswith(vendor)}
