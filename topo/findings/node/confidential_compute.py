# SPDX-License-Identifier: Apache-2.0
"""Confidential computing of GPUs."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.health import CONFIDENTIAL_COMPUTE
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.gpu_readings import has_health
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    health = machine.sources.gpu_health
    state = health.confidential
    if state is None:
        yield RULE.unknown(machine.host, health.error or f"NVML: {health.reasons.get('confidential', 'not captured')}")
    elif state.get("feature"):
        waits, debug = state.get("ready") == 0, bool(state.get("devtools"))
        level = Level.FAIL if waits else Level.WARN if debug else Level.INFO
        more = ", and the GPUs are not ready: they take no work" if waits else ", in developer mode" if debug else ""
        message = f"confidential computing is on{more}"
        yield RULE.finding(level, machine.host, message, fix=level is not Level.INFO, state=dict(state))


RULE = Rule(card=CONFIDENTIAL_COMPUTE, concerns=has_health, check=_check)
