# SPDX-License-Identifier: Apache-2.0
"""Errors of GPUs that the driver reported to the kernel's log."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.health import GPU_XID
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.kernel_events import xid_findings
from railgauge.topo.findings.node.gpu_readings import has_health
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    log = machine.sources.kernel_log
    names = {gpu.bus_id: f"GPU{gpu.index} ({gpu.bus_id})" for gpu in machine.sources.gpus}
    yield from xid_findings(log.events, names)
    if log.gap:
        yield RULE.unknown(machine.host, log.gap)


def _concerns(machine: Machine) -> bool:
    return has_health(machine) or bool(machine.sources.kernel_log.source)


RULE = Rule(card=GPU_XID, concerns=_concerns, check=_check)
