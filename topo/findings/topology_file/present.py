# SPDX-License-Identifier: Apache-2.0
"""The GPUs and NICs of a machine, by bus id as a number: those in its topology, and unused PCI functions."""

from railgauge.topo.facts.pci_class import DISPLAY, NETWORK
from railgauge.topo.findings.topology_file.elements import TopoFile
from railgauge.topo.values.busid import to_number

NVIDIA = "0x10de"  # excludes a server's own VGA controller


def gpus_there(file: TopoFile) -> set[int]:
    """Those of the machine; none without one."""
    return {pci.key[1] for pci in file.on_machine("pci") if pci.is_gpu} | _functions(file, DISPLAY, NVIDIA)


def nics_there(file: TopoFile) -> set[int]:
    """Those of the machine; none without one."""
    return {pci.key[1] for pci in file.on_machine("pci") if pci.is_nic} | _functions(file, NETWORK)


def _functions(file: TopoFile, kind: str, vendor: str = "") -> set[int]:
    """The PCI functions of a class on the machine; empty for a machine that a file describes."""
    functions = file.inventory.pci if file.inventory else ()
    of_kind = (one for one in functions if (one.pci_class or "").startswith(kind))
    return {to_number(one.bus_id) for one in of_kind if (one.vendor or "").startswith(vendor)}
