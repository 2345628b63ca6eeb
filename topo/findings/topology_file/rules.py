# SPDX-License-Identifier: Apache-2.0
"""All rules of the linter, and how they are run."""

from dataclasses import replace

from railgauge.topo.findings.finding import Finding, Level, by_line
from railgauge.topo.findings.topology_file import (
    affinity_mask_wrong,
    attribute_missing,
    busid_duplicate,
    busid_spelling,
    c2c_uneven,
    class_mismatch,
    cpu_unknown,
    device_misplaced,
    element_ignored,
    gpu_differs,
    gpu_numbering,
    link_speed_unknown,
    link_width_unknown,
    nccl_cannot_read,
    net_differs,
    net_duplicate,
    net_speed_unknown,
    numaid_duplicate,
    nvlink_class_odd,
    nvlink_count_high,
    nvlink_differs,
    nvlink_missing,
    nvlink_one_sided,
    nvlink_self_target,
    nvlink_target_unknown,
    pcie_bridge_bogus,
    pcie_link_degraded,
    several_hosts,
    topo_file_faulty,
    topo_file_stale,
    vm_flat_topology,
)
from railgauge.topo.findings.topology_file.elements import TopoFile

RULES = (
    nccl_cannot_read.RULE,
    element_ignored.RULE,
    attribute_missing.RULE,
    busid_spelling.RULE,
    busid_duplicate.RULE,
    class_mismatch.RULE,
    numaid_duplicate.RULE,
    several_hosts.RULE,
    cpu_unknown.RULE,
    affinity_mask_wrong.RULE,
    vm_flat_topology.RULE,
    pcie_bridge_bogus.RULE,
    pcie_link_degraded.RULE,
    link_speed_unknown.RULE,
    link_width_unknown.RULE,
    nvlink_self_target.RULE,
    nvlink_one_sided.RULE,
    nvlink_missing.RULE,
    nvlink_count_high.RULE,
    nvlink_class_odd.RULE,
    nvlink_target_unknown.RULE,
    nvlink_differs.RULE,
    c2c_uneven.RULE,
    gpu_numbering.RULE,
    gpu_differs.RULE,
    net_duplicate.RULE,
    net_speed_unknown.RULE,
    net_differs.RULE,
    device_misplaced.RULE,
    topo_file_stale.RULE,
)


def lint(file: TopoFile) -> tuple[Finding, ...]:
    """Everything that is wrong in a file, in the order of its lines; what has no line comes last."""
    path = file.topology.path or ""
    found = [finding for rule in RULES for finding in rule.find(file, path)]
    if not any(finding.level is Level.FAIL for finding in found):
        found += topo_file_faulty.RULE.find(file, path)
    host = file.machine.host if file.machine else ""
    placed = [replace(finding, path=file.topology.path, host=host) for finding in found]
    return tuple(sorted(placed, key=by_line))
