# SPDX-License-Identifier: Apache-2.0
"""All rules about machines, and how they are run."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from railgauge.topo.errors import UsageError
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node import (
    acs_enabled,
    affinity_mask_wrong,
    changed_since,
    conf_file_forgotten,
    cpu_governor,
    dmabuf_unsupported,
    driver_mismatch,
    duplicate_gpu,
    duplicate_nic,
    fabric_not_ready,
    gid_index_invalid,
    gid_table_holes,
    gpu_nic_far,
    host_id_collision,
    ib_errors_rising,
    ib_hca_nomatch,
    ib_hca_prefix,
    ib_port_down,
    ib_rate_low,
    imex_missing,
    iommu_translating,
    memlock_low,
    mig_enabled,
    mtu_mismatch,
    nccl_setting_harmful,
    nccl_setting_ignored,
    nccl_setting_invalid,
    nodes_differ,
    nofile_low,
    numa_misbound,
    numa_syscalls_blocked,
    nvlink_missing,
    nvlink_self_target,
    p2p_unsupported,
    pcie_bridge_bogus,
    pcie_link_degraded,
    peermem_missing,
    ports_blocked,
    rail_unreachable,
    relaxed_ordering_off,
    rp_filter_strict,
    shm_leftovers,
    shm_too_small,
    slower_than_before,
    socket_ifname_nomatch,
    socket_ifname_virtual,
    soft_rdma_present,
    topo_file_faulty,
    topo_file_stale,
    verbs_device_missing,
    verbs_provider_missing,
    vm_flat_topology,
)
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule, examine

RULES: tuple[Rule, ...] = (
    topo_file_stale.RULE,
    topo_file_faulty.RULE,
    vm_flat_topology.RULE,
    affinity_mask_wrong.RULE,
    pcie_bridge_bogus.RULE,
    pcie_link_degraded.RULE,
    acs_enabled.RULE,
    iommu_translating.RULE,
    relaxed_ordering_off.RULE,
    nvlink_self_target.RULE,
    nvlink_missing.RULE,
    fabric_not_ready.RULE,
    imex_missing.RULE,
    driver_mismatch.RULE,
    duplicate_gpu.RULE,
    duplicate_nic.RULE,
    mig_enabled.RULE,
    p2p_unsupported.RULE,
    gpu_nic_far.RULE,
    numa_misbound.RULE,
    cpu_governor.RULE,
    ib_port_down.RULE,
    host_id_collision.RULE,
    ib_rate_low.RULE,
    ib_errors_rising.RULE,
    mtu_mismatch.RULE,
    soft_rdma_present.RULE,
    verbs_device_missing.RULE,
    verbs_provider_missing.RULE,
    gid_index_invalid.RULE,
    gid_table_holes.RULE,
    peermem_missing.RULE,
    dmabuf_unsupported.RULE,
    ib_hca_prefix.RULE,
    ib_hca_nomatch.RULE,
    socket_ifname_virtual.RULE,
    socket_ifname_nomatch.RULE,
    rail_unreachable.RULE,
    rp_filter_strict.RULE,
    ports_blocked.RULE,
    shm_too_small.RULE,
    shm_leftovers.RULE,
    memlock_low.RULE,
    nofile_low.RULE,
    numa_syscalls_blocked.RULE,
    conf_file_forgotten.RULE,
    nccl_setting_ignored.RULE,
    nccl_setting_invalid.RULE,
    nccl_setting_harmful.RULE,
    nodes_differ.RULE,
    slower_than_before.RULE,
    changed_since.RULE,
)
SHOWN = (Level.FAIL, Level.WARN, Level.INFO, Level.UNKNOWN, Level.PASS)


def check(case: Case, rules: Sequence[Rule] = RULES) -> tuple[Finding, ...]:
    """What the rules find, the worst first, each level in the order of the rules."""
    found = [_placed(finding, case) for rule in rules for finding in examine(rule, case)]
    return tuple(sorted(found, key=lambda finding: SHOWN.index(finding.level)))


def _placed(finding: Finding, case: Case) -> Finding:
    """With the host's name, and with the file of a line; what was scanned has no lines."""
    examined = case.machine.topology.path if case.reader is None and finding.line is not None else None
    path = finding.path or examined
    return replace(finding, host=case.host, path=path, line=finding.line if path else None)


def chosen(only: Collection[str], skip: Collection[str], cost: int) -> tuple[Rule, ...]:
    """The rules of up to a cost, by id; UsageError for an id that there is not."""
    known = [rule.id for rule in RULES]
    unknown = sorted({*only, *skip} - set(known))
    if unknown:
        raise UsageError(f"there is no rule {', '.join(unknown)}; there are: {', '.join(known)}")
    return tuple(rule for rule in RULES if rule.id not in skip and (rule.id in only if only else rule.cost <= cost))
