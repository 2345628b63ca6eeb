# SPDX-License-Identifier: Apache-2.0
"""Settings that look like NCCL's and that NCCL does not read."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.settings import NCCL_SETTING_IGNORED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule, unrecorded
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.validity import fault_of


def _check(machine: Machine) -> Iterator[Finding]:
    for setting in machine.known_settings:
        fault = fault_of(setting, machine.sources.nccl)
        if fault and fault.ignored:
            yield RULE.finding(
                Level.WARN if fault.meant else Level.INFO,
                setting.name,
                f"{setting.name} (of {setting.origin}) {fault.message}",
                value=setting.value,
                origin=setting.origin,
                meant=fault.meant,
            )
    yield from unrecorded(RULE, machine)


RULE = Rule(card=NCCL_SETTING_IGNORED, check=_check)
