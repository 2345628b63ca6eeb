# SPDX-License-Identifier: Apache-2.0
"""A fictitious bridge of a hypervisor or a file, so slow that NCCL uses nothing below it."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import PCIE_BRIDGE_BOGUS
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.findings.topology_file import pcie_bridge_bogus


def _check(case: Case) -> Iterator[Finding]:
    yield from pcie_bridge_bogus.RULE.check(case.file)
    if has_gpus(case) and (silent := missing(Need.NVML, case)):
        yield RULE.unknown(case.host, silent)


RULE = Rule(card=PCIE_BRIDGE_BOGUS, needs=(Need.PCI,), check=_check)
