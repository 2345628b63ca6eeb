# SPDX-License-Identifier: Apache-2.0
"""An RDMA NIC, or a port of one, that the machine has lost."""

from collections.abc import Iterator
from functools import partial

from railgauge.topo.expect.lost_nics import lost_nics
from railgauge.topo.facts.pci_devices import nics
from railgauge.topo.findings.cards.rdma import NIC_LOST
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.effect import Prices, priced
from railgauge.topo.findings.node.lost_price import UNPRICED, lost_repairs
from railgauge.topo.findings.node.repair import Repair
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    facts, prices = machine.sources.of_all_gpus, Prices(machine)
    for device in facts.rdma:
        if device.gone:
            yield RULE.finding(Level.FAIL, device.name, "listed as an RDMA device, but its files are gone")
    if not facts.pci:
        yield RULE.unknown(machine.host, str(Need.PCI))
        return
    if not facts.lists_pci:
        yield RULE.unknown("PCI", "the PCI devices beside those named are not in the output")
        return
    for one in lost_nics(facts):
        if one.sure:
            effect = RULE.card.effect
            found = RULE.finding(Level.FAIL, one.subject, one.why, effect=effect, rdma_devices=len(facts.rdma))
            yield priced(found, partial(prices.loss, one.subject), f"{effect}; {UNPRICED}")
        else:
            yield RULE.unknown(one.subject, one.why)


def _repairs(machine: Machine) -> Iterator[Repair]:
    facts = machine.sources.of_all_gpus
    if missing(Need.PCI, machine):
        return
    used = {port.device.bus_id for port in machine.rdma_ports}
    beside = [one for one in nics(facts) if one.bus_id in used]
    yield from lost_repairs(machine, lost_nics(facts), beside)


RULE = Rule(
    card=NIC_LOST,
    concerns=lambda machine: machine.facts is None or bool(machine.facts.rdma),
    check=_check,
    repairs=_repairs,
)
