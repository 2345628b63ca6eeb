# SPDX-License-Identifier: Apache-2.0
"""An RDMA NIC, or a port of one, that the machine has lost."""

from collections.abc import Iterator

from railgauge.topo.expect.lost_nics import lost_nics
from railgauge.topo.findings.cards.rdma import NIC_LOST
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    facts = machine.sources.of_all_gpus
    for one in lost_nics(facts):
        if one.sure:
            yield RULE.finding(Level.FAIL, one.subject, one.why, effect=RULE.card.effect, rdma_devices=len(facts.rdma))
        else:
            yield RULE.unknown(one.subject, one.why)


RULE = Rule(
    card=NIC_LOST,
    needs=(Need.MACHINE, Need.PCI),
    concerns=lambda machine: machine.facts is None or bool(machine.facts.rdma),
    check=_check,
)
