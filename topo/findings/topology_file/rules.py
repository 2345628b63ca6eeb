# SPDX-License-Identifier: Apache-2.0
"""All rules of the linter, and how they are run."""

from dataclasses import replace

from railgauge.topo.findings.detectors import found_in
from railgauge.topo.findings.finding import Finding, Level, by_line
from railgauge.topo.findings.topology_file import topo_file_faulty
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine

KNOWN = found_in("railgauge.topo.findings.topology_file", TopologyFileRule)
RULES = tuple(rule for rule in KNOWN if rule is not topo_file_faulty.RULE)


def lint(file: Machine) -> tuple[Finding, ...]:
    """All faults of a file, in the order of its lines; those without a line last."""
    path = file.topology.path or ""
    found = [finding for rule in RULES for finding in rule.find(file, path)]
    if not any(finding.level is Level.FAIL for finding in found):
        found += topo_file_faulty.RULE.find(file, path)
    host = file.beside.host if file.beside else ""
    placed = [replace(finding, path=file.topology.path, host=host) for finding in found]
    return tuple(sorted(placed, key=by_line))
