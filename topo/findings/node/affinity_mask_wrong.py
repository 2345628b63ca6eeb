# SPDX-License-Identifier: Apache-2.0
"""Invalid CPU affinity masks in the topology that NCCL plans with, from a file or from the machine."""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.findings.cards.topology_file import AFFINITY_MASK_WRONG
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.findings.topology_file import affinity_mask_wrong
from railgauge.topo.machine import Machine

NO_NODE = -1


def _check(machine: Machine) -> Iterator[Finding]:
    told = list(affinity_mask_wrong.RULE.check(machine))
    yield from told
    if file := machine.sound_file:
        known = {(one.subject, one.message) for one in told}
        found = affinity_mask_wrong.RULE.check(file)
        yield from (replace(one, path=file.topology.path) for one in found if (one.subject, one.message) not in known)
    if machine.facts is not None and not _is_told(machine):
        yield RULE.unknown(machine.host, "the cores of NUMA nodes were not read (/sys/devices/system/node)")


def _is_told(machine: Machine) -> bool:
    """Whether the masks of a machine are known. A kernel without NUMA has none, and numa_node is -1 there."""
    nodes = [cpu for cpu in machine.topology.placed("cpu") if cpu.number("numaid") != NO_NODE]
    return bool(machine.topology.numa) and all(cpu.get("affinity") for cpu in nodes)


RULE = Rule(card=AFFINITY_MASK_WRONG, needs=(), check=_check)
