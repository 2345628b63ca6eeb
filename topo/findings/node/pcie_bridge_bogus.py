# SPDX-License-Identifier: Apache-2.0
"""A bridge that a hypervisor or a file made up, so slow that nothing below it is used."""

from collections.abc import Iterator

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.findings.topology_file import pcie_bridge_bogus


def _check(case: Case) -> Iterator[Finding]:
    yield from pcie_bridge_bogus.RULE.check(case.file)
    if has_gpus(case) and (silent := missing(Need.NVML, case)):
        yield RULE.unknown(case.host, silent)


RULE = Rule(
    id=pcie_bridge_bogus.RULE.id,
    title=pcie_bridge_bogus.RULE.title,
    levels=(*pcie_bridge_bogus.RULE.levels, Level.UNKNOWN),
    about=(
        "Hypervisors put devices below bridges that say 2.5 GT/s x1, a figure without meaning. NCCL takes it for a "
        "wire of 0.2 GB/s and plans all traffic of the devices below with it."
    ),
    passes="no bridge is much slower than what is below it",
    reads=("NCCL_TOPO_FILE", "/sys/bus/pci/devices/*/max_link_*"),
    shows=("+ PCI[0.2] - PCI/...",),
    sure="lspci -tv, and LnkCap of the bridge in lspci -vv",
    remedy=(
        "dump the topology (railgauge topo dump), give the bridge the link of the devices below it, and name the file "
        "in NCCL_TOPO_FILE"
    ),
    links=("https://github.com/NVIDIA/nccl/issues/573",),
    needs=(Need.PCI,),
    check=_check,
)
