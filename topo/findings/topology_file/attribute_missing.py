# SPDX-License-Identifier: Apache-2.0
"""Attributes that an element lacks, and whether NCCL works without them.

NCCL completes a file from sysfs and NVML (`ncclTopoGetXmlFromSys`, `ncclTopoGetXmlFromCpu`, `ncclTopoGetXmlFromGpu`),
but only on the path up from the rank's own GPU and from NICs that the file does not name: `ncclTopoFillNet` returns
at once where it finds a <net> of that name. So above a named NIC a rank whose GPU is elsewhere finds nothing, and
ncclCommInitRank fails with "Attribute ... of node ... not found" (`xmlGetAttrStr`).
"""

from collections import Counter
from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import ATTRIBUTE_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.xml.placed_element import PlacedElement, place

NEVER_FILLED = {
    ("pci", "busid"): "NCCL does not find the device, and detects its place as without a file",
    ("cpu", "numaid"): "ncclCommInitRank fails: could not find CPU numa ID",
    ("nvlink", "count"): "ncclCommInitRank fails: Attribute count of node nvlink not found",
    ("c2c", "count"): "ncclCommInitRank fails: Attribute count of node c2c not found",
    ("c2c", "bw"): "ncclCommInitRank fails: Attribute bw of node c2c not found",
    ("pcilink", "target"): "ncclCommInitRank fails: Attribute target of node pcilink not found",
    ("net", "name"): "NCCL's network plugin never finds the NIC, so it is not used",
}
FILLED = {
    ("pci", "class"): "sysfs",
    ("pci", "link_speed"): "sysfs",
    ("pci", "link_width"): "sysfs",
    ("cpu", "arch"): "its own build",
    ("cpu", "affinity"): "sysfs",
    ("gpu", "dev"): "NVML",
    ("gpu", "sm"): "NVML",
    ("gpu", "gdr"): "CUDA",
    ("nvlink", "tclass"): "sysfs",
    ("net", "dev"): "its network plugin",
    ("net", "gdr"): "its network plugin",
}
DEMANDED = {"pci": ("class", "link_speed", "link_width"), "cpu": ("arch", "vendor", "familyid", "modelid")}
MODELLED = ("GenuineIntel", "CentaurHauls", "  Shanghai  ")  # of these NCCL 2.21 reads family and model


def _check(file: Machine) -> Iterator[Finding]:
    told: dict[tuple[str, str], list[PlacedElement]] = {}
    gpus = Counter(pci.host for pci in file.topology.placed("pci") if pci.is_gpu)
    for placed in file.topology.elements:
        for (name, key), effect in NEVER_FILLED.items():
            if placed.name == name and placed.get(key) is None:
                yield _fatal(placed, key, f"<{name}> lacks {key}", effect)
        stops = [key for key in _demanded(placed) if placed.get(key) is None] if _passed_over(gpus, placed) else []
        for key in stops:
            message = f"<{placed.name}> lacks {key}, which a rank whose GPU is elsewhere does not look up"
            yield _fatal(
                placed, key, message, f"ncclCommInitRank fails: Attribute {key} of node {placed.name} not found"
            )
        for name, key in FILLED:
            if placed.name == name and placed.get(key) is None and key not in stops and not _unknowable(placed, key):
                told.setdefault((name, key), []).append(placed)
    for (name, key), places in told.items():
        message = f"{len(places)} x <{name}> without {key}, which NCCL takes from {FILLED[name, key]}"
        yield RULE.at(places[0], Level.INFO, message, attribute=key, lines=[placed.line for placed in places])


def _passed_over(gpus: Counter[str], placed: PlacedElement) -> bool:
    """Whether a rank may use the element, for a NIC that the file names in it, without having filled it in."""
    if placed.name not in DEMANDED:
        return False
    names_nic = any(element.name == "net" and element.get("name") for element in placed.element.walk())
    below = sum(one.name == "pci" and one.is_gpu for one in place(placed.element))
    return names_nic and (not below or below < gpus[placed.host])


def _demanded(placed: PlacedElement) -> tuple[str, ...]:
    """The attributes that NCCL requires to make a node of the element (`ncclTopoAddPci`, `ncclTopoAddCpu`)."""
    keys = DEMANDED[placed.name]
    if placed.name == "pci":
        return keys
    if placed.get("arch") not in (None, "x86_64"):
        return ()
    return keys if placed.get("vendor") in MODELLED else keys[:2]


def _unknowable(placed: PlacedElement, key: str) -> bool:
    """The cores of NUMA node -1: sysfs has none."""
    return key == "affinity" and placed.get("numaid") == "-1"


def _fatal(placed: PlacedElement, key: str, message: str, effect: str) -> Finding:
    subject = f"numaid {placed.get('numaid')}" if placed.name == "cpu" else placed.bus_id
    return RULE.at(placed, Level.FAIL, message, subject=subject, effect=effect, attribute=key)


RULE = TopologyFileRule(card=ATTRIBUTE_MISSING, check=_check)
