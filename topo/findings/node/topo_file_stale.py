# SPDX-License-Identifier: Apache-2.0
"""The topology file that NCCL starts from is for another machine, or does not exist."""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.facts.sources.nccl_settings import in_folder
from railgauge.topo.findings.cards.topology_file import TOPO_FILE_STALE
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.findings.topology_file import (
    device_misplaced,
    gpu_differs,
    net_differs,
    nvlink_differs,
    topo_file_stale,
)
from railgauge.topo.machine import Machine

BESIDE = (device_misplaced.RULE, gpu_differs.RULE, net_differs.RULE, nvlink_differs.RULE)


def _check(machine: Machine) -> Iterator[Finding]:
    if machine.topo_file_unknown:
        yield RULE.unknown(machine.host, str(Need.SETTINGS))
        return
    named = machine.sources.topo_file
    if named is not None and named.text is None:
        message = f"NCCL_TOPO_FILE is {named.path}, which cannot be read here"
        known = machine.reader is not None and machine.reader.knows(in_folder(machine.reader, named.path))
        yield RULE.finding(Level.WARN, named.path, message) if known else RULE.unknown(named.path, message)
        return
    if file := machine.sound_file:
        yield from (
            replace(finding, path=file.topology.path)
            for finding in (*topo_file_stale.RULE.check(file), *_differs(machine, file))
        )


def _differs(machine: Machine, file: Machine) -> Iterator[Finding]:
    """Where the file differs from the machine; a VM's file holds what the VM cannot see."""
    if machine.facts is None or machine.facts.host.virtual:
        return
    for rule in BESIDE:
        for finding in rule.check(file):
            if finding.level is Level.WARN:
                message = f"{finding.id}: {finding.message}"
                yield replace(finding, id=RULE.id, message=message, remedy=RULE.card.remedy)


RULE = Rule(card=TOPO_FILE_STALE, check=_check)
