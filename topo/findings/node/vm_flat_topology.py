# SPDX-License-Identifier: Apache-2.0
"""A virtual machine that hides the PCI tree, so that NCCL plans as if all devices hung on one root."""

from collections.abc import Iterator

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.findings.topology_file import vm_flat_topology


def _check(case: Case) -> Iterator[Finding]:
    yield from vm_flat_topology.RULE.check(case.file)
    if silent := missing(Need.NVML, case):
        yield RULE.unknown(case.host, silent)


RULE = Rule(
    id=vm_flat_topology.RULE.id,
    title=vm_flat_topology.RULE.title,
    levels=(*vm_flat_topology.RULE.levels, Level.UNKNOWN),
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
    needs=(Need.PCI,),
    concerns=has_gpus,
    check=_check,
)
