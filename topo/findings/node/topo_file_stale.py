# SPDX-License-Identifier: Apache-2.0
"""The topology file that NCCL starts from is for another machine, or does not exist."""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.facts.sources.nccl_settings import in_folder
from railgauge.topo.findings.cards.topology_file import TOPO_FILE_STALE
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.findings.topology_file import (
    device_misplaced,
    gpu_differs,
    net_differs,
    nvlink_differs,
    topo_file_stale,
)
from railgauge.topo.findings.topology_file.elements import TopoFile

BESIDE = (device_misplaced.RULE, gpu_differs.RULE, net_differs.RULE, nvlink_differs.RULE)


def _check(case: Case) -> Iterator[Finding]:
    if case.named_file_unknown:
        yield RULE.unknown(case.host, str(Need.SETTINGS))
        return
    named = case.evidence.topo_file
    if named is not None and named.text is None:
        message = f"NCCL_TOPO_FILE is {named.path}, which cannot be read here"
        known = case.reader is not None and case.reader.knows(in_folder(case.reader, named.path))
        yield RULE.finding(Level.WARN, named.path, message) if known else RULE.unknown(named.path, message)
        return
    if file := case.sound_file:
        yield from (
            replace(finding, path=file.topology.path)
            for finding in (*topo_file_stale.RULE.check(file), *_differs(case, file))
        )


def _differs(case: Case, file: TopoFile) -> Iterator[Finding]:
    """Where the file differs from the machine; a VM's file holds what the VM cannot see."""
    if case.inventory is None or case.inventory.host.virtual:
        return
    for rule in BESIDE:
        for finding in rule.check(file):
            if finding.level is Level.WARN:
                message = f"{finding.id}: {finding.message}"
                yield replace(finding, id=RULE.id, message=message, remedy=RULE.card.remedy)


RULE = Rule(card=TOPO_FILE_STALE, check=_check)
