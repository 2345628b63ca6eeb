# SPDX-License-Identifier: Apache-2.0
"""A virtual machine that hides the PCI tree, so that NCCL plans as if all devices were on one root."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import VM_FLAT_TOPOLOGY
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.node.peers import has_gpus, is_unplaced
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.findings.topology_file import vm_flat_topology
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    if any(is_unplaced(machine, gpu.bus_id) for gpu in machine.topology.placed("gpu")):
        yield RULE.unknown(machine.host, "where the GPUs are on PCI is unknown")
    else:
        yield from vm_flat_topology.RULE.check(machine)
    if silent := missing(Need.NVML, machine):
        yield RULE.unknown(machine.host, silent)


RULE = Rule(card=VM_FLAT_TOPOLOGY, needs=(Need.PCI,), concerns=has_gpus, check=_check)
