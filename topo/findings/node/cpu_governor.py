# SPDX-License-Identifier: Apache-2.0
"""CPU governors that keep the clock low or raise it late."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.cpufreq import POLICIES
from railgauge.topo.findings.cards.gpus import CPU_GOVERNOR
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import has_peers
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

PERFORMANCE, LOWEST = "performance", "powersave"
HARDWARE = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")  # with these drivers powersave lets the CPU decide


def _check(machine: Machine) -> Iterator[Finding]:
    governors = machine.sources.governors
    if not governors:
        yield RULE.unknown(
            machine.host, f"no cpufreq data: not captured, or controlled by firmware/hypervisor ({POLICIES})"
        )
    for (driver, governor), count in governors.items():
        if governor is None:
            yield RULE.unknown(machine.host, f"the governor of {count} policies cannot be read")
        elif governor != PERFORMANCE:
            lowest = governor == LOWEST and driver not in HARDWARE
            yield RULE.finding(
                Level.WARN if lowest and driver else Level.INFO,
                machine.host,
                f"governor {governor} (driver {driver or 'unknown'}) on {count} cpufreq policies",
                effect="the cores stay at their lowest clock" if lowest else "the clock rises late for short bursts",
                driver=driver,
                governor=governor,
                policies=count,
            )


RULE = Rule(card=CPU_GOVERNOR, concerns=has_peers, check=_check)
