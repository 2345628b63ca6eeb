# SPDX-License-Identifier: Apache-2.0
"""NVLinks to a GPU that is not in the file: outside the job's part of the machine, or a wrong bus id."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import NVLINK_TARGET_UNKNOWN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.nvlinks import count, gpus, to_gpu
from railgauge.topo.findings.topology_file.nvlinks import link as link_of
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.values.busid import to_number
from railgauge.topo.xml.placed_element import PlacedElement


def _check(file: Machine) -> Iterator[Finding]:
    known = set(gpus(file)) | {pci.key for pci in file.topology.placed("pci") if pci.is_gpu}
    missing: dict[tuple[str, int], list[PlacedElement]] = {}
    for link in file.topology.placed("nvlink"):
        target = link.get("target")
        if target is not None and to_gpu(link) and (link.host, to_number(target)) not in known:
            missing.setdefault((link.host, to_number(target)), []).append(link)
    for links in missing.values():
        number = sum(count(link) for link in links)
        yield RULE.at(
            links[0],
            Level.INFO,
            f"{number} {link_of(links[0]).name} end at {links[0].get('target')}, which is not in the file",
            subject=links[0].get("target"),
            effect="NCCL ignores them",
            lines=[link.line for link in links],
        )


RULE = TopologyFileRule(card=NVLINK_TARGET_UNKNOWN, check=_check)
