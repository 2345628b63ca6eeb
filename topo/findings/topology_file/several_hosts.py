# SPDX-License-Identifier: Apache-2.0
"""Several hosts in one file, as NCCL dumps an NVLink domain of many trays: readable, but wrong as NCCL_TOPO_FILE.

`ncclTopoGetSystem` puts its own host's hash on every <cpu> of a file that it loads.
"""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import SEVERAL_HOSTS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.xml.placed_element import PlacedElement


def _check(file: Machine) -> Iterator[Finding]:
    first: dict[str, PlacedElement] = {}
    for cpu in file.topology.placed("cpu"):
        first.setdefault(cpu.host, cpu)
    if len(first) > 1:
        yield RULE.at(
            list(first.values())[1],
            Level.INFO,
            f"the file describes {len(first)} hosts",
            subject=file.topology.path or "",
            effect="as NCCL_TOPO_FILE, NCCL merges them into one host with every NUMA node several times",
            host_hashes=[cpu.get("host_hash") for cpu in first.values()],
        )


RULE = TopologyFileRule(card=SEVERAL_HOSTS, check=_check)
