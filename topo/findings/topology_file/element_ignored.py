# SPDX-License-Identifier: Apache-2.0
"""Elements and attributes that NCCL does not read: unknown ones, and known ones in a place where it does not look."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from railgauge.topo.findings.cards.topology_file import ELEMENT_IGNORED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.inspected_file import as_written
from railgauge.topo.findings.topology_file.known_attributes import ATTRIBUTES, MARKS, RCCL_ATTRIBUTES
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.topo_file import HOLDS
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.placed_element import PlacedElement
from railgauge.topo.xml.topology_file import is_rccl

ALONE = {"gpu": "NCCL before 2.30 takes", "nic": "NCCL takes"}


def _check(file: Machine) -> Iterator[Finding]:
    told: set[str] = set()
    more = RCCL_ATTRIBUTES if is_rccl(file.topology) else {}
    for placed in as_written(file).elements:
        strangers = [inner for outer, inner in pairwise((*placed.around, placed.element)) if _skipped(inner, outer)]
        if not strangers:
            yield from () if more else _beside_another(placed)
            yield from _attributes(placed, told, more)
        elif strangers[0] is placed.element:
            yield from _element(placed, told)


def _skipped(element: Element, around: Element) -> bool:
    return element.name not in HOLDS.get(around.name, ())


def _element(placed: PlacedElement, told: set[str]) -> Iterator[Finding]:
    parent = placed.around[-1].name
    if placed.name in ATTRIBUTES:
        message = f"<{placed.name}> in <{parent}>: NCCL does not read it there"
        yield RULE.at(placed, Level.WARN, message, effect=f"the <{placed.name}> and everything in it is ignored")
    elif placed.name not in told:
        told.add(placed.name)
        yield RULE.at(placed, Level.INFO, f"<{placed.name}>: unknown to NCCL, ignored")


def _beside_another(placed: PlacedElement) -> Iterator[Finding]:
    """A PCI device holds one NIC for `ncclTopoAddPci`, the first; several GPUs of one bus id are new in 2.30."""
    around = placed.around[-1] if placed.around else None
    if around is None or around.name != "pci" or placed.name not in ALONE:
        return
    if next(iter(around.all(placed.name))) is not placed.element:
        message = f"more than one <{placed.name}> in a <pci>: {ALONE[placed.name]} the first one only"
        yield RULE.at(placed, Level.WARN, message, effect="this one is not seen: each device needs its own <pci>")


def _attributes(placed: PlacedElement, told: set[str], more: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    known = (*ATTRIBUTES.get(placed.name, ()), *more.get(placed.name, ()), *MARKS)
    for key, value in placed.element.attributes:
        name = f"{placed.name} {key}"
        if key not in known and name not in told:
            told.add(name)
            message = f"{key}={value!r}: NCCL reads no such attribute of <{placed.name}>"
            yield RULE.at(placed, Level.INFO, message, attribute=key, value=value)


RULE = TopologyFileRule(card=ELEMENT_IGNORED, check=_check)
