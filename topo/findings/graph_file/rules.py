# SPDX-License-Identifier: Apache-2.0
"""All rules about graph files, and how they are run."""

from dataclasses import replace

from railgauge.topo.findings.cards.graph_file import GRAPH_SOUND
from railgauge.topo.findings.detectors import found_in
from railgauge.topo.findings.finding import Finding, Level, by_line
from railgauge.topo.findings.graph_file import channel_count, graph_absent, graph_file_faulty, total
from railgauge.topo.findings.graph_file.alike import told_once
from railgauge.topo.findings.graph_file.graph_file import GraphFile
from railgauge.topo.findings.graph_file.rule import GraphFileRule

APART = (graph_file_faulty.RULE, total.RULE)  # the first only if no other rule says why, the second always
RULES = tuple(rule for rule in found_in("railgauge.topo.findings.graph_file", GraphFileRule) if rule not in APART)
COUNTED = (graph_absent.RULE.id, channel_count.RULE.id)  # NCCL takes fewer channels, or none: no FAIL


def lint(file: GraphFile, host: str = "") -> tuple[Finding, ...]:
    """The faults of a file, in the order of its lines, and the bandwidth it reaches; PASS without a fault."""
    found = told_once(finding for rule in RULES for finding in rule.find(file, file.path))
    if not any(finding.level is Level.FAIL or _tells(finding, file) for finding in found):
        found += graph_file_faulty.RULE.find(file, file.path)
    if not found:
        found.append(GRAPH_SOUND.finding(Level.PASS, file.path, GRAPH_SOUND.passes))
    found += total.RULE.find(file, file.path)
    placed = [replace(finding, path=file.path, host=host) for finding in found]
    return tuple(sorted(placed, key=by_line))


def _tells(finding: Finding, file: GraphFile) -> bool:
    """Whether a finding says why the strict reader rejects the file."""
    return file.fault is not None and finding.id in COUNTED and finding.line == file.fault.line
