# SPDX-License-Identifier: Apache-2.0
"""The topology file that NCCL starts from on a machine: NCCL_TOPO_FILE, or one provided by a hypervisor's daemon.

The file wins, detection adds what it lacks, and elements that this machine does not use are removed
(`ncclTopoGetSystem`).
"""

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from railgauge.topo.errors import InputError
from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.nccl_topo_file import SETTING, VIRTUAL
from railgauge.topo.facts.sources.nvml import Gpu
from railgauge.topo.nccl.detect.nics import Nic
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.topology import Topology

HOLDS = {  # the handlers of `ncclTopoXmlLoadSystem` and those below it
    "system": ("cpu",),
    "cpu": ("pci", "nic"),
    "pci": ("pci", "gpu", "nic", "pcilink"),
    "gpu": ("nvlink", "c2c"),
    "nic": ("net",),
}


def given_file(reader: Reader, environment: Mapping[str, str]) -> tuple[Topology | None, tuple[str, ...]]:
    """The file that applies, None without one, and remarks. InputError if NCCL_TOPO_FILE names an invalid one.

    As in NCCL, a missing file is no error, and an empty setting also disables the daemon's file.
    """
    path = environment.get(SETTING)
    if path == "":
        return None, ()
    if path is not None:
        if not os.path.exists(path):
            return None, (f"{SETTING}: {path} does not exist: detecting the machine without it",)
        return _chosen(path), ()
    text = reader.text(VIRTUAL)
    try:
        return (topology_file.loads(text, VIRTUAL) if text else None), ()
    except InputError as error:
        return None, (f"{error}: detecting the machine without it",)


def _chosen(path: str) -> Topology:
    try:
        return topology_file.load(path)
    except InputError as error:
        hint = f"unset {SETTING} to detect the machine without it, or run `railgauge topo lint {shlex.quote(path)}`"
        raise InputError(f"{error} ({SETTING} names this file: {hint})") from error


def known(file: Topology) -> Element:
    """The file's elements that NCCL's reader knows at their place; it skips others with their contents.

    InputError for a <cpu> without its number, which detection cannot add.
    """
    for cpu in file.cpus:
        cpu.require("numaid", file.path)
    return _known(file.root)


def _known(element: Element) -> Element:
    holds = HOLDS.get(element.name, ())
    return replace(element, children=tuple(_known(child) for child in element.children if child.name in holds))


def differences(
    file: Topology, found: tuple[Gpu, ...], chosen: tuple[Gpu, ...], nics: tuple[Nic, ...]
) -> Iterator[str]:
    """Devices that only the file or only the machine has; `chosen` of the GPUs `found` take part."""
    described = [pci.get("busid") or "?" for pci in file.root.walk() if pci.name == "pci" and any(pci.all("gpu"))]
    if stale := _without(described, (gpu.bus_id for gpu in found)):
        yield f"{file.path}: this machine has no GPU {stale}"
    placed = [pci.get("busid") or "?" for pci in file.root.walk() if pci.name == "pci"]  # with or without a <gpu>
    if missing := _without((gpu.bus_id for gpu in chosen), placed):
        yield f"{file.path}: does not have GPU {missing}, which was detected"
    named = [net.get("name") or "?" for net in file.root.walk() if net.name == "net"]
    if stale := _without(named, (nic.name for nic in nics)):
        yield f"{file.path}: this machine does not use its NIC {stale}"


def origin(file: Topology, root: Element) -> str:
    """One line on how much of a topology came from the file."""
    elements = list(root.walk())
    taken = sum(1 for element in elements if element.line is not None)
    return f"topology file {file.path}: {taken} of {len(elements)} elements are from it, the others were detected"


def _without(some: Iterable[str], others: Iterable[str]) -> str:
    known = set(others)
    return ", ".join(one for one in some if one not in known)
