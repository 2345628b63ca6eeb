# SPDX-License-Identifier: Apache-2.0
"""GPUs on PCI of which no driver runs any."""

from collections.abc import Iterator

from railgauge.topo.expect.shipped import find
from railgauge.topo.findings.cards.gpus import GPU_DRIVER_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import gpus
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine

UNUSABLE = (None, "nouveau")
"""Drivers of GPUs that CUDA does not have; vfio-pci is for a host that passes them to VMs."""
COUNT = "gpus"  # the key of --expect


def _check(machine: Machine) -> Iterator[Finding]:
    cards = gpus(machine)
    drivers = {one.driver for one in cards}
    if not drivers <= set(UNUSABLE):
        return
    if not any(one.driver for one in machine.sources.pci):
        yield RULE.unknown(machine.host, "the drivers of PCI devices were not read")
        return
    is_expected = COUNT in machine.expected.by_key or find(machine.sources) is not None
    count = f"{len(cards)} GPU{'s' * (len(cards) > 1)}"
    bound = " and ".join(sorted(filter(None, drivers))) or "no driver"
    message = f"{count} on PCI: {bound} bound; NVIDIA's is not loaded"
    level = Level.FAIL if is_expected else Level.INFO
    yield RULE.finding(level, machine.host, message, effect=RULE.card.effect, gpus=[one.bus_id for one in cards])


def _concerns(machine: Machine) -> bool:
    """GPUs on PCI where NVML does not answer."""
    return machine.facts is None or (machine.facts.no_nvml is not None and bool(gpus(machine)))


RULE = Rule(card=GPU_DRIVER_MISSING, needs=(Need.MACHINE, Need.PCI), concerns=_concerns, check=_check)
