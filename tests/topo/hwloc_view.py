# SPDX-License-Identifier: Apache-2.0
"""The PCI tree as hwloc tells it (lstopo's XML) and as our inventory does, in one form to be compared."""

import os
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.sources.sysfs_numa import numa_nodes

LSTOPO = "lstopo-no-graphics"


class Function(NamedTuple):
    """Where a PCI function hangs (a bus id, or the host bridge as sysfs names it), what it is, and its own cores."""

    parent: str
    pci_class: str
    vendor: str
    device: str
    cores: frozenset[int]


def lstopo(root: Path | None = None) -> str:
    """What lstopo says of a tree of files, or of this machine; hwloc asks Linux alone, and no library."""
    if shutil.which(LSTOPO) is None:
        pytest.skip(f"no {LSTOPO}: scripts/prerequisites test installs it")
    env = {**os.environ, "HWLOC_COMPONENTS": "linux,stop", "HWLOC_HIDE_ERRORS": "2"}
    if root is not None:
        env["HWLOC_FSROOT"] = str(root)
    command = [LSTOPO, "--of", "xml", "--whole-io", "-"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def theirs(xml: str) -> dict[str, Function]:
    """The PCI functions of lstopo's XML by bus id."""
    (machine,) = ET.fromstring(xml).findall("object")
    return dict(_below(machine, "", frozenset()))


def numa_cores(xml: str) -> dict[int, frozenset[int]]:
    """The cores of each NUMA node that has any, by its number."""
    nodes = (node for node in ET.fromstring(xml).iter("object") if node.get("type") == "NUMANode")
    return {int(node.attrib["os_index"]): cores for node in nodes if (cores := _cores(node.attrib["cpuset"]))}


def _below(element: ET.Element, parent: str, cores: frozenset[int]) -> Iterator[tuple[str, Function]]:
    if "cpuset" in element.attrib:
        cores = _cores(element.attrib["cpuset"])
    if element.get("bridge_type", "").startswith("0-"):
        parent = "pci" + element.attrib["bridge_pci"].replace("[", "").partition("-")[0]
    elif bus_id := element.get("pci_busid"):
        pci_class, ids, *_ = element.attrib["pci_type"].replace("[", "").replace("]", "").split(" ")
        yield bus_id, Function(parent, pci_class, *ids.split(":"), cores)
        parent = bus_id
    for child in element.findall("object"):
        yield from _below(child, parent, cores)


def _cores(text: str) -> frozenset[int]:
    """hwloc's 0xf...f,0x00000001: words of 32 bits, the last is the lowest; a word of zero may be empty."""
    words = (int(word or "0", 16) for word in text.split(","))
    mask = 0
    for word in words:
        mask = mask << 32 | word
    return frozenset(core for core in range(mask.bit_length()) if mask >> core & 1)


def ours(reader) -> dict[str, Function]:
    """The PCI functions of our inventory by bus id; one of no NUMA node is near to all cores."""
    nodes = {node.id: frozenset(node.cpus) for node in numa_nodes(reader)}
    everywhere = frozenset().union(*nodes.values())
    return {
        function.bus_id: Function(
            function.path[-2] if len(function.path) > 1 else "",
            *(text[2:6] if text else "0000" for text in (function.pci_class, function.vendor, function.device)),
            nodes.get(function.numa, everywhere),
        )
        for function in MachineFacts(reader).pci
    }
