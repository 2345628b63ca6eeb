# SPDX-License-Identifier: Apache-2.0
"""The topology file that NCCL starts from on a machine: NCCL_TOPO_FILE, or one provided by a hypervisor's daemon.

The file wins, detection adds what it lacks, and elements that this machine does not use are removed
(`ncclTopoGetSystem`).
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from railgauge.topo.errors import InputError, LeftOutError
from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.nccl_settings import in_folder
from railgauge.topo.facts.sources.nccl_topo_file import SETTING, VIRTUAL, NamedFile, named_file
from railgauge.topo.facts.sources.nvml import NvmlGpu
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
MOST_ATTRIBUTES = 16  # MAX_ATTR_COUNT


def given_file(
    reader: Reader, environment: Mapping[str, str], *, tolerant: bool = False
) -> tuple[Topology | None, tuple[str, ...]]:
    """The file that applies, None without one, and remarks. InputError if NCCL_TOPO_FILE names an invalid one, unless
    `tolerant`.

    As in NCCL, a missing file is no error, and an empty setting also disables the daemon's file.
    """
    file = named_file(reader, environment.get(SETTING))
    if file is None:
        return None, ()
    path = in_folder(reader, file.path)
    if reader.realpath(path) is None and path not in reader.problems:
        return None, (f"{SETTING}: {file.path} does not exist: detecting the machine without it",)
    try:
        return _parsed(file, reader.problems.get(path)), ()
    except LeftOutError as error:
        return None, (f"{file.path}: {error}: describing the machine without it",)
    except InputError as error:
        if tolerant or file.path == VIRTUAL:
            return None, (f"{error}: detecting the machine without it",)
        lint = f"railgauge topo lint {shlex.quote(file.path)}"
        hint = f"unset {SETTING} to detect the machine without it, or run `{lint}`"
        raise InputError(f"{error} ({SETTING} names this file: {hint})") from error


def _parsed(file: NamedFile, why_unread: str | None) -> Topology:
    if why_unread:
        raise InputError(f"cannot read it: {why_unread}", file.path)
    return topology_file.loads(file.text or "", file.path)


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


def heard(file: Topology) -> Topology:
    """What NCCL reads of a file: the elements that it knows at their place, with attributes up to its limit."""
    return replace(file, root=_heard(file.root))


def _heard(element: Element) -> Element:
    known = (child for child in element.children if child.name in HOLDS.get(element.name, ()))
    return replace(element, attributes=element.attributes[:MOST_ATTRIBUTES], children=tuple(map(_heard, known)))


def differences(
    file: Topology, found: tuple[NvmlGpu, ...], chosen: tuple[NvmlGpu, ...], nics: tuple[Nic, ...]
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
