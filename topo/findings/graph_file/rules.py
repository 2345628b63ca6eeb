# SPDX-License-Identifier: Apache-2.0
"""All rules about graph files, and how they are run."""

from dataclasses import replace

from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level, by_line
from railgauge.topo.findings.graph_file import (
    attribute_missing,
    channel_count,
    channel_open,
    cross_nic,
    gpu_missing,
    gpu_rank_differs,
    gpu_repeated,
    gpu_unknown,
    graph_absent,
    graph_file_faulty,
    link_overloaded,
    nccl_cannot_read,
    nic_unknown,
    same_channels,
    speed_wrong,
    total,
    type_differs,
    type_unknown,
)
from railgauge.topo.findings.graph_file.alike import told_once
from railgauge.topo.findings.graph_file.graph_file import GraphFile

RULES = (
    nccl_cannot_read.RULE,
    attribute_missing.RULE,
    graph_absent.RULE,
    channel_count.RULE,
    gpu_unknown.RULE,
    gpu_repeated.RULE,
    gpu_missing.RULE,
    gpu_rank_differs.RULE,
    nic_unknown.RULE,
    channel_open.RULE,
    speed_wrong.RULE,
    type_unknown.RULE,
    type_differs.RULE,
    link_overloaded.RULE,
    cross_nic.RULE,
    same_channels.RULE,
)
COUNTED = (graph_absent.RULE.id, channel_count.RULE.id)  # NCCL takes fewer channels, or none: no FAIL
SOUND: FileRule[GraphFile] = FileRule(
    id="graph-sound",
    title="Nothing is wrong in the file",
    levels=(Level.PASS,),
    remedy="",
    check=lambda _: (),
)
KNOWN = (*RULES, graph_file_faulty.RULE, total.RULE, SOUND)
"""All that `lint` tells, for `railgauge explain`."""


def lint(file: GraphFile, host: str = "") -> tuple[Finding, ...]:
    """What is wrong in a file, in the order of its lines, and what it reaches; PASS where nothing is."""
    found = told_once(finding for rule in RULES for finding in rule.find(file, file.path))
    if not any(finding.level is Level.FAIL or _tells(finding, file) for finding in found):
        found += graph_file_faulty.RULE.find(file, file.path)
    if not found:
        message = "each GPU once in each channel, devices and links as the machine has them"
        found.append(SOUND.finding(Level.PASS, file.path, message))
    found += total.RULE.find(file, file.path)
    placed = [replace(finding, path=file.path, host=host) for finding in found]
    return tuple(sorted(placed, key=by_line))


def _tells(finding: Finding, file: GraphFile) -> bool:
    """Whether a finding says already why the strict reader refuses the file."""
    return file.fault is not None and finding.id in COUNTED and finding.line == file.fault.line
