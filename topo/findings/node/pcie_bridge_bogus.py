# SPDX-License-Identifier: Apache-2.0
"""A fictitious bridge of a hypervisor or a file, so slow that NCCL uses nothing below it."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import PCIE_BRIDGE_BOGUS
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.node.effect import Prices
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.repair import Repair
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.findings.topology_file import pcie_bridge_bogus
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.xml.topology import PciRate


def _check(machine: Machine) -> Iterator[Finding]:
    prices = Prices(machine)
    for one in pcie_bridge_bogus.RULE.check(machine):
        yield prices.on(one)
    if has_gpus(machine) and (silent := missing(Need.NVML, machine)):
        yield RULE.unknown(machine.host, silent)


def _repairs(machine: Machine) -> Iterator[Repair]:
    """Bridges as fast as the fastest device below them."""
    for pci in pcie_bridge_bogus.bogus(machine):
        rates = [PciRate(one.get("link_speed") or "", int(one.get("link_width") or 0)) for one in pci.below("pci")]
        best = max(rates, key=lambda rate: bandwidth.pci(*rate))
        sets = (f"{pci.bus_id}.max_speed={best.speed}", f"{pci.bus_id}.max_width={best.lanes}")
        yield Repair(subject=pci.bus_id, sets=sets)


RULE = Rule(card=PCIE_BRIDGE_BOGUS, needs=(Need.PCI,), check=_check, repairs=_repairs)
