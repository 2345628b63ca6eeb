# SPDX-License-Identifier: Apache-2.0
"""What `check` finds on the way between GPUs and NICs: their PCIe links, NVLinks (PXN), RDMA devices and ports.

A decision for GPUDirect RDMA says nothing about the bytes that then pass a link of half the lanes, or a port without
an address: the same findings, with the same levels, belong to both commands. What concerns the decision itself, such
as a missing module, is in findings.py.
"""

from collections.abc import Sequence

from railgauge.topo.findings.card import Area, in_area
from railgauge.topo.findings.finding import Finding, Level, at_or_above
from railgauge.topo.findings.gdr.pairs import GdrPair
from railgauge.topo.findings.node.rules import RULES, check
from railgauge.topo.machine import Machine

AREAS = (Area.PCIE, Area.NVLINK, Area.RDMA, Area.RDMA_PORTS)
OTHERS = (
    "gpu-lost",
    "gpu-driver-fails",
    "gpu-driver-missing",
    "gpu-nic-far",
    "numa-node-missing",
    "vm-flat-topology",
    "rail-unreachable",
)
"""Findings of other areas: GPUs and NICs without a pair, distances that are not the real ones, rails without GID."""


def findings(machine: Machine, pairs: Sequence[GdrPair], asked: Sequence[GdrPair]) -> tuple[Finding, ...]:
    """From WARN on, the worst first; not those about GPUs and NICs of other pairs than the requested ones."""
    ids = {card.id for area in AREAS for card in in_area(area)} | set(OTHERS)
    others = _names(machine, pairs) - _names(machine, asked)
    found = check(machine, [rule for rule in RULES if rule.id in ids])
    return tuple(one for one in found if (one.error or at_or_above([one], Level.WARN)) and not _is_about(one, others))


def _names(machine: Machine, pairs: Sequence[GdrPair]) -> set[str]:
    """What their GPUs and NICs are called in findings: GPU0, mlx5_0 and bus ids."""
    cards = {device.name: device.bus_id for device in machine.facts.rdma} if machine.facts else {}
    gpus = {name for pair in pairs for name in (f"GPU{pair.gpu.dev}", pair.gpu.bus_id)}
    nics = {name for pair in pairs for name in (pair.net.name, cards.get(pair.net.name or ""))}
    return {name for name in gpus | nics if name}


def _is_about(finding: Finding, names: set[str]) -> bool:
    """Whether it is about one of the devices, or a port of one (mlx5_0:1)."""
    return finding.subject in names or finding.subject.rpartition(":")[0] in names
