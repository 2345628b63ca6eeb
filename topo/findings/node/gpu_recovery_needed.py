# SPDX-License-Identifier: Apache-2.0
"""GPUs that the driver says must be reset, or whose node must be restarted."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.health import GPU_RECOVERY_NEEDED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.gpu_readings import has_health, unread
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.findings.xid_catalogue import RECOVERY_ACTIONS
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    for gpu in machine.sources.gpu_health.gpus:
        if gpu.recovery_action:
            known = RECOVERY_ACTIONS.get(gpu.recovery_action)
            words = known.words if known else f"recovery action {gpu.recovery_action} of the driver"
            message = f"{gpu.name}: {words}"
            yield RULE.finding(Level.FAIL, gpu.bus_id, message, recovery_action=gpu.recovery_action)
    yield from unread(RULE, machine, "recovery_action", lambda gpu: gpu.recovery_action is not None)


RULE = Rule(card=GPU_RECOVERY_NEEDED, concerns=has_health, check=_check)
