# SPDX-License-Identifier: Apache-2.0
"""The topology file that NCCL begins with is of another machine, or is not there."""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.facts.sources.nccl_settings import in_folder
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
    """What the file has otherwise than the machine; a guest's file tells what the guest does not see."""
    if case.inventory is None or case.inventory.host.virtual:
        return
    for rule in BESIDE:
        for finding in rule.check(file):
            if finding.level is Level.WARN:
                yield replace(finding, id=RULE.id, message=f"{finding.id}: {finding.message}")


RULE = Rule(
    id=topo_file_stale.RULE.id,
    title=topo_file_stale.RULE.title,
    levels=(*topo_file_stale.RULE.levels, Level.UNKNOWN),
    about=(
        "A file that NCCL_TOPO_FILE names is believed. One that was left in /etc/nccl.conf or in an image for another "
        "machine makes NCCL plan with devices that are not there, and miss some that are."
    ),
    passes="no topology file is in force, or it names this machine's devices",
    reads=("NCCL_TOPO_FILE", "/var/run/nvidia-topologyd/virtualTopology.xml", "/sys/bus/pci/devices"),
    shows=("NCCL_TOPO_FILE set by environment to ...", "Could not find real path of /sys/class/pci_bus/..."),
    sure="railgauge topo lint FILE --from live",
    remedy=topo_file_stale.RULE.remedy,
    links=("https://github.com/NVIDIA/nccl/issues/573", "https://github.com/NVIDIA/nccl/issues/1008"),
    check=_check,
)
