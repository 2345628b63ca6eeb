# SPDX-License-Identifier: Apache-2.0
"""A virtual machine that hides the PCI tree, so that NCCL plans as if all devices hung on one root."""

from railgauge.topo.lint import vm_flat_topology
from railgauge.topo.rules.rule import Rule

RULE = Rule(
    id=vm_flat_topology.RULE.id,
    title=vm_flat_topology.RULE.title,
    levels=vm_flat_topology.RULE.levels,
    about=(
        "The hypervisor shows GPUs and NICs flat on one bus, without switches, NUMA nodes or link speeds. NCCL then "
        "counts one shared root complex at the slowest default, and finds no GPU near a NIC."
    ),
    passes="the PCI tree shows switches or several roots",
    reads=("/sys/bus/pci/devices", "/proc/cpuinfo (hypervisor)", "NCCL_TOPO_FILE"),
    shows=("KV Convert to int : could not find value of '' in dictionary, falling back to 60",),
    sure="railgauge topo show: all devices lie on bus 0; numa_node is -1 in lspci -vv",
    remedy=vm_flat_topology.RULE.remedy,
    links=("https://github.com/NVIDIA/nccl-tests/issues/256", "https://github.com/NVIDIA/nccl/issues/1843"),
    needs=(),
    check=lambda case: vm_flat_topology.RULE.check(case.file),
)
