# SPDX-License-Identifier: Apache-2.0
"""Errors of NVSwitches that the driver reported to the kernel's log."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.kernel_events import KernelSource
from railgauge.topo.facts.sources.sysfs_pci import NVIDIA
from railgauge.topo.findings.cards.health import NVSWITCH_SXID
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.kernel_events import sxid_findings
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine
from railgauge.topo.values.pci_class import NVSWITCH


def _check(machine: Machine) -> Iterator[Finding]:
    log = machine.sources.kernel_log
    yield from sxid_findings(log.events)
    if log.gap:
        yield RULE.unknown(machine.host, log.gap)


def _concerns(machine: Machine) -> bool:
    """Machines with NVSwitches, by PCI or by their messages."""
    if machine.facts is None or any(one.source == KernelSource.NVSWITCH for one in machine.facts.kernel_log.events):
        return True
    return any((one.pci_class or "").startswith(NVSWITCH) and one.vendor == NVIDIA for one in machine.facts.pci)


RULE = Rule(card=NVSWITCH_SXID, concerns=_concerns, check=_check)
