# SPDX-License-Identifier: Apache-2.0
"""A CPU that NCCL does not know: it assumes 5000 GB/s between such CPUs (`ncclTopoGetInterCpuBw`)."""

from collections import Counter
from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import CPU_UNKNOWN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S
from railgauge.topo.xml.placed_element import PlacedElement


def _check(file: Machine) -> Iterator[Finding]:
    cpus = Counter(cpu.host for cpu in file.topology.placed("cpu"))
    for cpu in file.topology.placed("cpu"):
        if _speed(cpu) < LOCAL_GB_PER_S or cpu.get("arch") is None or _only_vendor_missing(cpu):
            continue
        several = cpus[cpu.host] > 1
        yield RULE.at(
            cpu,
            Level.WARN if several else Level.INFO,
            f"arch {cpu.get('arch')!r}, vendor {cpu.get('vendor')!r}: unknown to NCCL",
            subject=f"numaid {cpu.get('numaid')}",
            effect=f"{LOCAL_GB_PER_S:g} GB/s assumed between the CPUs, so that link never limits" if several else "",
            arch=cpu.get("arch"),
            vendor=cpu.get("vendor"),
        )


def _speed(cpu: PlacedElement) -> float:
    family, model = cpu.number("familyid") or 0, cpu.number("modelid") or 0
    return bandwidth.between_cpus(cpu.get("arch"), cpu.get("vendor"), family, model)


def _only_vendor_missing(cpu: PlacedElement) -> bool:
    return cpu.get("arch") == "x86_64" and cpu.get("vendor") is None  # attribute_missing.py judges that


RULE = TopologyFileRule(card=CPU_UNKNOWN, check=_check)
