# SPDX-License-Identifier: Apache-2.0
"""The topology file that NCCL begins with, or the one under examination, is invalid by itself."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from railgauge.topo.errors import InputError
from railgauge.topo.findings.cards.topology_file import TOPO_FILE_FAULTY
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.findings.topology_file import (
    busid_duplicate,
    nvlink_missing,
    nvlink_self_target,
    pcie_bridge_bogus,
    pcie_link_degraded,
)
from railgauge.topo.machine import Machine

OF_THEIR_OWN = tuple(
    module.RULE.id
    for module in (busid_duplicate, nvlink_missing, nvlink_self_target, pcie_bridge_bogus, pcie_link_degraded)
)


def _check(machine: Machine) -> Iterator[Finding]:
    if machine.topo_file_unknown:
        yield RULE.unknown(machine.host, str(Need.SETTINGS))
        return
    try:
        file = machine.file_in_force
    except InputError as error:
        yield RULE.finding(Level.FAIL, error.path or "", f"NCCL cannot use the file: {error}", effect="NCCL stops")
        return
    if file is not None:
        yield from _worst(Machine(topology=file.topology, topo_file=file.topo_file), ())
    if machine.reader is None:
        yield from _worst(machine, OF_THEIR_OWN)


def _worst(file: Machine, told: Collection[str]) -> Iterator[Finding]:
    """The linter's faults of the file itself, under this rule's id, without those of other rules."""
    from railgauge.topo.findings.topology_file.rules import lint

    for finding in lint(file):
        if finding.level is Level.FAIL and finding.id not in told:
            found = finding if finding.id == RULE.id else replace(finding, message=f"{finding.id}: {finding.message}")
            yield replace(found, id=RULE.id, remedy=RULE.card.remedy, path=file.topology.path)


RULE = Rule(card=TOPO_FILE_FAULTY, needs=(), check=_check)
