# SPDX-License-Identifier: Apache-2.0
"""A setting in the environment that keeps NCCL from using what the machine has, such as one left from debugging."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.settings import NCCL_SETTING_HARMFUL
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule, unrecorded
from railgauge.topo.findings.node.setting_harm import harm_of
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    for setting in machine.known_settings:
        if not setting.is_of_file and (harm := harm_of(machine, setting)):
            found = RULE.finding(
                harm.level,
                setting.name,
                f"{setting.name}={setting.value} (of the {setting.origin}): {harm.what}",
                fix=harm.level is not Level.INFO,
                value=setting.value,
            )
            yield harm.on(found)
    yield from unrecorded(RULE, machine)


RULE = Rule(card=NCCL_SETTING_HARMFUL, check=_check)
