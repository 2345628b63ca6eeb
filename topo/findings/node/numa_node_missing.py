# SPDX-License-Identifier: Apache-2.0
"""GPUs and NICs without a NUMA node beside others that have one, as the firmware leaves out part of the host; or with
another one than the ports above them.
"""

from collections.abc import Iterator

from railgauge.topo.findings.cards.gpus import NUMA_NODE_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import gpus, has_gpus, nics
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    devices = [one for one in (*gpus(machine), *nics(machine)) if one.placed]
    without = [one.bus_id for one in devices if one.numa is None]
    nodes = [node.id for node in machine.topology.numa if node.cpus]
    if len(nodes) > 1 and 0 < len(without) == len(devices) and _is_bare_metal(machine):
        message = f"no GPU or NIC has a NUMA node (numa_node is -1), and the host has {len(nodes)}"
        yield RULE.finding(Level.WARN, machine.host, message, effect=RULE.card.effect, devices=without)
    elif len(nodes) > 1 and 0 < len(without) < len(devices):
        yield RULE.finding(
            Level.WARN,
            ", ".join(without),
            f"{len(without)} of {len(devices)} GPUs and NICs have no NUMA node (numa_node is -1): {', '.join(without)}",
            effect=RULE.card.effect,
            devices=without,
        )
    for one in devices if len(nodes) > 1 else ():
        above = {port.numa for bus_id in one.path[1:-1] if (port := machine.sources.function(bus_id))}
        if len(above) == 1 and None not in above and one.numa not in (None, *above):
            message = f"{one.bus_id} is on NUMA{one.numa}, and the ports above it are on NUMA{above.pop()}"
            yield RULE.finding(Level.WARN, one.bus_id, message, effect=RULE.card.effect, numa=one.numa)


def _is_bare_metal(machine: Machine) -> bool:
    """A VM is shown no NUMA nodes by design."""
    return machine.facts is not None and machine.facts.host.virtual is False


RULE = Rule(card=NUMA_NODE_MISSING, needs=(Need.MACHINE, Need.PCI), concerns=has_gpus, check=_check)
