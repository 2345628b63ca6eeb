# SPDX-License-Identifier: Apache-2.0
"""GPUs that the driver stops when their last process ends."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.health import PERSISTENCE_OFF
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.gpu_readings import has_health, unread
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    gpus = machine.sources.gpu_health.gpus
    off = [gpu.name for gpu in gpus if gpu.persistence is False]
    if off:
        differs = any(gpu.persistence for gpu in gpus)
        message = f"persistence mode is off on {', '.join(off)}" + (", and on on the others" if differs else "")
        yield RULE.finding(Level.WARN if differs else Level.INFO, machine.host, message, gpus=off)
    yield from unread(RULE, machine, "persistence", lambda gpu: gpu.persistence is not None)


RULE = Rule(card=PERSISTENCE_OFF, concerns=has_health, check=_check)
