# SPDX-License-Identifier: Apache-2.0
"""NVLinks that end at their own GPU: NCCL connects the GPU to itself, not to its peers."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.nvlink import NVLINK_SELF_TARGET
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.nvlinks import count
from railgauge.topo.findings.topology_file.nvlinks import link as link_of
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.values.busid import to_number


def _check(file: Machine) -> Iterator[Finding]:
    for link in file.topology.placed("nvlink"):
        target = link.get("target")
        if target is not None and to_number(target) == link.key[1]:
            lost = count(link) * link_of(link).gb_per_s
            yield RULE.at(
                link,
                Level.FAIL,
                f"{count(link)} {link_of(link).name} of {link.bus_id} end at {link.bus_id} itself",
                effect=f"{lost:g} GB/s of {link_of(link).name} lead nowhere; its peers are reached over PCI",
                target=target,
                count=count(link),
            )


RULE = TopologyFileRule(card=NVLINK_SELF_TARGET, check=_check)
