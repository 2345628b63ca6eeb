# SPDX-License-Identifier: Apache-2.0
"""A PCI class that does not fit what the device holds.

NCCL uses the class (`ncclTopoAddPci`, `kvDictPciClass`); sysfs overrides the file's where it has one. From 2.30 on it
looks into a bridge even where that holds a <gpu>, which has no class: "Attribute class of node gpu not found".
"""

import re
from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import CLASS_MISMATCH
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.values.pci_class import DISPLAY, GPUS, HOST_BRIDGE, NETWORK
from railgauge.topo.xml.placed_element import PlacedElement

CLASS = re.compile(r"0x[0-9a-fA-F]{2}([0-9a-fA-F]{4})?")


def _check(file: Machine) -> Iterator[Finding]:
    for pci in file.topology.placed("pci"):
        kind = pci.get("class")
        if kind is not None and (told := _wrong(pci, kind)):
            level, message, effect = told
            yield RULE.at(pci, level, message, effect=effect, **{"class": kind})


def _wrong(pci: PlacedElement, kind: str) -> tuple[Level, str, str] | None:
    """What is wrong with a class, and the effect."""
    if pci.holds("pci") and kind.startswith((DISPLAY, NETWORK)):
        message = f"class {kind} is a device, but it holds <pci>"
        return Level.FAIL, message, "NCCL does not look below it: those devices are ignored"
    if not CLASS.fullmatch(kind):
        message = f"class {kind!r} is not of the form 0x030200"
        return Level.WARN, message, "NCCL treats the device as a PCI switch if sysfs does not know it"
    gpus = GPUS if any(gpu.get("gcn") for gpu in pci.element.all("gpu")) else DISPLAY
    if pci.holds("gpu") and not kind.startswith(gpus):
        message = f"it holds a <gpu>, but class {kind} is not a GPU (0x03...)"
        return Level.WARN, message, "NCCL 2.30 and later stop if they take it for a bridge and sysfs does not know it"
    if pci.holds("nic") and kind.startswith(HOST_BRIDGE):
        message = f"it holds a <nic>, but class {kind} is a host bridge: a VM or sandbox hides where the NICs are"
        return Level.WARN, message, "NCCL counts these NICs as one device, equally far from every GPU of the CPU"
    return None


RULE = TopologyFileRule(card=CLASS_MISMATCH, check=_check)
