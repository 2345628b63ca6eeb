# SPDX-License-Identifier: Apache-2.0
"""GPUs and NICs without a NUMA node beside others that have one: the firmware leaves out part of the host."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.gpus import NUMA_NODE_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import gpus, has_gpus, nics
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    devices = [*gpus(machine), *nics(machine)]
    without = [one.bus_id for one in devices if one.numa is None]
    nodes = [node.id for node in machine.topology.numa if node.cpus]
    if without and len(nodes) > 1 and len(without) < len(devices):
        yield RULE.finding(
            Level.WARN,
            ", ".join(without),
            f"{len(without)} of {len(devices)} GPUs and NICs have no NUMA node (numa_node is -1): {', '.join(without)}",
            effect=RULE.card.effect,
            devices=without,
        )


RULE = Rule(card=NUMA_NODE_MISSING, needs=(Need.MACHINE, Need.PCI), concerns=has_gpus, check=_check)
