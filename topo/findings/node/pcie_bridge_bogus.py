# SPDX-License-Identifier: Apache-2.0
"""A fictitious bridge of a hypervisor or a file, so slow that NCCL uses nothing below it."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import PCIE_BRIDGE_BOGUS
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.findings.topology_file import pcie_bridge_bogus
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    yield from pcie_bridge_bogus.RULE.check(machine)
    if has_gpus(machine) and (silent := missing(Need.NVML, machine)):
        yield RULE.unknown(machine.host, silent)


RULE = Rule(card=PCIE_BRIDGE_BOGUS, needs=(Need.PCI,), check=_check)
