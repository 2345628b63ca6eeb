# SPDX-License-Identifier: Apache-2.0
"""NVLinks that end at their own GPU, in a topology file or as NVML reports."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.nvlink import NVLINK_SELF_TARGET
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.findings.topology_file import nvlink_self_target
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    yield from nvlink_self_target.RULE.check(machine)
    if silent := missing(Need.NVML, machine):
        yield RULE.unknown(machine.host, silent)


RULE = Rule(card=NVLINK_SELF_TARGET, needs=(), concerns=has_gpus, check=_check)
