# SPDX-License-Identifier: Apache-2.0
"""GPUs with a lower power limit than their default, or than others of their model."""

from collections.abc import Iterator
from statistics import median_high

from railgauge.topo.facts.sources.gpu_health import GpuHealth
from railgauge.topo.findings.cards.health import GPU_POWER_LIMIT_LOW
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.gpu_readings import by_model, has_health, unread
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    for gpus in by_model(machine):
        limits = [limit for gpu in gpus if (limit := _limit(gpu)) is not None]
        usual = median_high(limits) if limits else 0
        for gpu in gpus:
            limit, default = _limit(gpu), gpu.power_mw.get("default") or 0
            if limit is not None and limit < max(usual, default):
                of = f"{default / 1000:g} W by default" if default > limit else f"siblings {usual / 1000:g} W"
                message = f"{gpu.name}: power limit {limit / 1000:g} W, {of}"
                yield RULE.finding(
                    Level.WARN,
                    gpu.bus_id,
                    message,
                    limit_w=limit / 1000,
                    default_w=default / 1000,
                    siblings_w=usual / 1000,
                )
    yield from unread(RULE, machine, "power_mw", lambda gpu: _limit(gpu) is not None)


def _limit(gpu: GpuHealth) -> int | None:
    """The limit in force: the enforced one, where that is lower."""
    known = [limit for name in ("limit", "enforced") if (limit := gpu.power_mw.get(name)) is not None]
    return min(known, default=None)


RULE = Rule(card=GPU_POWER_LIMIT_LOW, concerns=has_health, check=_check)
