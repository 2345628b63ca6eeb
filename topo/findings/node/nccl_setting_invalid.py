# SPDX-License-Identifier: Apache-2.0
"""Settings that NCCL reads as another value than written, or with which it does not start."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.settings import NCCL_SETTING_INVALID
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule, unrecorded
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.validity import fault_of


def _check(machine: Machine) -> Iterator[Finding]:
    for setting in machine.known_settings:
        fault = fault_of(setting, machine.sources.nccl)
        if fault and not fault.ignored:
            yield RULE.finding(
                Level.FAIL if fault.fatal else Level.WARN,
                setting.name,
                f"{setting.name} (of {setting.origin}) {fault.message}",
                value=setting.value,
                origin=setting.origin,
            )
    yield from unrecorded(RULE, machine)


RULE = Rule(card=NCCL_SETTING_INVALID, check=_check)
