# SPDX-License-Identifier: Apache-2.0
"""All rules about machines, and how they are run."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from railgauge.topo.errors import UsageError
from railgauge.topo.findings import LEVELS, Finding
from railgauge.topo.rules import (
    conf_file_forgotten,
    dmabuf_unsupported,
    gid_index_invalid,
    gid_table_holes,
    ib_errors_rising,
    ib_hca_nomatch,
    ib_hca_prefix,
    ib_port_down,
    ib_rate_low,
    memlock_low,
    mtu_mismatch,
    nccl_setting_ignored,
    nccl_setting_invalid,
    nofile_low,
    numa_syscalls_blocked,
    peermem_missing,
    ports_blocked,
    rail_unreachable,
    rp_filter_strict,
    shm_leftovers,
    shm_too_small,
    socket_ifname_nomatch,
    socket_ifname_virtual,
    soft_rdma_present,
    verbs_device_missing,
    verbs_provider_missing,
    vm_flat_topology,
)
from railgauge.topo.rules.case import Case
from railgauge.topo.rules.rule import Rule, examine

RULES: tuple[Rule, ...] = (
    vm_flat_topology.RULE,
    ib_port_down.RULE,
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
)


def check(case: Case, rules: Sequence[Rule] = RULES) -> tuple[Finding, ...]:
    """What the rules find, the worst first, each level in the order of the rules."""
    found = [replace(finding, host=case.host) for rule in rules for finding in examine(rule, case)]
    return tuple(sorted(found, key=lambda finding: -LEVELS.index(finding.level)))


def chosen(only: Collection[str], skip: Collection[str], cost: int) -> tuple[Rule, ...]:
    """The rules of up to a cost, by id; UsageError for an id that there is not."""
    known = [rule.id for rule in RULES]
    unknown = sorted({*only, *skip} - set(known))
    if unknown:
        raise UsageError(f"there is no rule {', '.join(unknown)}; there are: {', '.join(known)}")
    return tuple(rule for rule in RULES if rule.id not in skip and (rule.id in only if only else rule.cost <= cost))
