# SPDX-License-Identifier: Apache-2.0
"""Affinity masks that cannot be right: no mask, empty, shared by NUMA nodes, in the wrong order, or not the machine's.

NCCL binds a rank's threads to the mask of the CPU that its GPU hangs on (`ncclTopoGetCpuAffinity`).
"""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.findings.cards.topology_file import AFFINITY_MASK_WRONG
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.present import on_machine
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.values.cpuset import from_mask
from railgauge.topo.values.spans import listed
from railgauge.topo.xml.placed_element import PlacedElement

CORES_A_NODE = 8  # no server has fewer in a NUMA node
FEW = 8  # at most this many of the nodes that share a core are named
FAR = "ranks are bound to cores of another socket: host buffers and proxies cross the link between the sockets"


def _check(file: Machine) -> Iterator[Finding]:
    masks: list[tuple[PlacedElement, frozenset[int]]] = []
    for cpu in file.topology.placed("cpu"):
        text = cpu.get("affinity")
        if text is None:
            continue  # NCCL reads it from sysfs
        cores = _cores(text)
        if cores:
            masks.append((cpu, cores))
        elif cores is None or cpu.element.children:
            what = "not a CPU mask" if cores is None else "an empty mask"
            yield _finding(cpu, f"affinity {text[:40]!r} is {what}", "NCCL does not bind the ranks there", mask=text)
    for host in dict.fromkeys(cpu.host for cpu, _ in masks):
        yield from _one_host([pair for pair in masks if pair[0].host == host])
    yield from _against(file, masks)


def _one_host(masks: list[tuple[PlacedElement, frozenset[int]]]) -> Iterator[Finding]:
    owners: dict[int, list[PlacedElement]] = {}
    shared: list[Finding] = []
    for cpu, cores in masks:
        shared += _shared(owners, cpu, cores)
        for core in cores:
            owners.setdefault(core, []).append(cpu)
    if shared and (short := _cut_short(masks)):
        yield short
    else:
        yield from shared or _order(masks)


def _cores(text: str) -> frozenset[int] | None:
    try:
        return frozenset(from_mask(text))
    except ValueError:
        return None


def _shared(owners: dict[int, list[PlacedElement]], cpu: PlacedElement, cores: frozenset[int]) -> Iterator[Finding]:
    """The cores that a NUMA node shares with earlier ones, by core."""
    both = cores & owners.keys()
    if both:
        others = sorted({other.line or 0: other for core in both for other in owners[core][:FEW]}.items())
        whom = ", ".join(f"{_node(other)} (line {line})" for line, other in others)
        message = f"{_node(cpu)} shares cores {_list(both)} with {whom}"
        yield _finding(cpu, message, FAR, shared=_list(both), lines=[*(line for line, _ in others), cpu.line])


def _cut_short(masks: list[tuple[PlacedElement, frozenset[int]]]) -> Finding | None:
    """Masks too short for the cores of so many NUMA nodes: written by hand without their upper words."""
    room = max(32 * ((cpu.get("affinity") or "").count(",") + 1) for cpu, _ in masks)
    cpu, highest = masks[-1][0], max(cpu.number("numaid") or 0 for cpu, _ in masks)
    if room >= CORES_A_NODE * (highest + 1):
        return None
    message = f"masks of {room} cores are too short for {highest + 1} NUMA nodes: they overlap"
    return RULE.at(cpu, Level.INFO, message, subject=_node(cpu), room=room, highest_numaid=highest)


def _order(masks: list[tuple[PlacedElement, frozenset[int]]]) -> Iterator[Finding]:
    """Linux numbers the node of the boot core, core 0, as 0; swapped masks put it on another node."""
    first = next((cpu for cpu, _ in masks if cpu.number("numaid") == 0), None)
    for cpu, cores in masks:
        if 0 in cores and first is not None and cpu.number("numaid") not in (0, -1):
            message = f"core 0 is in the mask of {_node(cpu)}, not of numaid 0 (line {first.line}): swapped?"
            yield _finding(cpu, message, FAR, cores=_list(cores))


def _against(file: Machine, masks: list[tuple[PlacedElement, frozenset[int]]]) -> Iterator[Finding]:
    """The file's masks compared with the machine's cores, by node; a VM of one node hides its host's sockets."""
    real = _machine_cores(file)
    shows_sockets = sum(map(bool, real.values())) > 1 or len(masks) == 1
    if file.beside and masks and not any(real.values()):
        message = "the NUMA nodes of the machine are unknown: masks not compared"
        missing = "/sys/devices/system/node"
        yield RULE.at(masks[0][0], Level.UNKNOWN, message, subject=_node(masks[0][0]), fix=False, missing=missing)
    for cpu, cores in masks:
        there = real.get(cpu.number("numaid"))
        if there and there != cores and (shows_sockets or not cores < there):
            owner = next((node for node, own in real.items() if own == cores), None)
            whose = f": those of node {owner}" if owner is not None else ""
            message = f"{_node(cpu)} has cores {_list(cores)} in the file and {_list(there)} on the machine{whose}"
            effect = FAR if not cores & there else ""
            yield _finding(cpu, message, effect, file=_list(cores), machine=_list(there))


def _machine_cores(file: Machine) -> dict[int | None, frozenset[int]]:
    """The cores of each NUMA node; of a machine that is a topology file, the first mask of each numaid."""
    nodes = file.beside.topology.numa if file.beside else ()
    known: dict[int | None, frozenset[int]] = {node.id: frozenset(node.cpus) for node in nodes}
    for cpu in on_machine(file, "cpu"):
        if cpu.number("numaid") not in known:
            known[cpu.number("numaid")] = _cores(cpu.get("affinity") or "") or frozenset()
    return known


def _finding(cpu: PlacedElement, message: str, effect: str, **evidence: Any) -> Finding:
    return RULE.at(cpu, Level.WARN, message, subject=_node(cpu), effect=effect, **evidence)


def _node(cpu: PlacedElement) -> str:
    return f"numaid {cpu.get('numaid')}"


def _list(cores: frozenset[int]) -> str:
    return listed(sorted(cores))


RULE = TopologyFileRule(card=AFFINITY_MASK_WRONG, check=_check)
