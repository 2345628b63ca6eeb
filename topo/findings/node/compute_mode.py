# SPDX-License-Identifier: Apache-2.0
"""GPUs that take one process at a time, or none."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.gpus import COMPUTE_MODE
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.gpu_readings import has_health, unread
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

SHARED, EXCLUSIVE, PROHIBITED = 0, (1, 3), 2
"""NVML's numbers: 1 is Exclusive_Thread, which drivers take as Exclusive_Process."""


def _check(machine: Machine) -> Iterator[Finding]:
    gpus = [gpu for gpu in machine.sources.gpu_health.gpus if gpu.compute_mode is not None]
    if alone := [gpu.name for gpu in gpus if gpu.compute_mode in EXCLUSIVE]:
        differs = any(gpu.compute_mode == SHARED for gpu in gpus)
        message = f"one process at a time on {', '.join(alone)}" + (", and several on others" if differs else "")
        yield RULE.finding(Level.WARN if differs else Level.INFO, machine.host, message, gpus=alone)
    if shut := [gpu.name for gpu in gpus if gpu.compute_mode == PROHIBITED]:
        message = f"compute mode Prohibited on {', '.join(shut)}: no process gets it"
        yield RULE.finding(Level.FAIL, machine.host, message, gpus=shut)
    yield from unread(RULE, machine, "compute_mode", lambda gpu: gpu.compute_mode is not None)


RULE = Rule(card=COMPUTE_MODE, concerns=has_health, check=_check)
