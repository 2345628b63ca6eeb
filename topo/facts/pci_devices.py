# SPDX-License-Identifier: Apache-2.0
"""The PCI functions of a kind: NVIDIA's GPUs and NVSwitches, NICs."""

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.sources.pci_functions import PciFunction
from railgauge.topo.facts.sources.sysfs_pci import NVIDIA
from railgauge.topo.values.pci_class import DISPLAY, NETWORK, NVSWITCH


def gpus(facts: MachineFacts) -> list[PciFunction]:
    """NVIDIA's GPUs in sysfs, whether NVML lists them or not."""
    return [one for one in _of_class(facts, DISPLAY) if one.vendor == NVIDIA]


def nvswitches(facts: MachineFacts) -> list[PciFunction]:
    """NVIDIA's NVSwitches."""
    return [one for one in _of_class(facts, NVSWITCH) if one.vendor == NVIDIA]


def nics(facts: MachineFacts) -> list[PciFunction]:
    """All NICs with a link of their own, whether they have an RDMA device or not: no virtual functions."""
    return [one for one in _of_class(facts, NETWORK) if one.physfn is None]


def _of_class(facts: MachineFacts, pci_class: str) -> list[PciFunction]:
    return [one for one in facts.pci if (one.pci_class or "").startswith(pci_class)]
