# SPDX-License-Identifier: Apache-2.0
"""Memory rows of GPUs that were remapped, are to be, or cannot be."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.gpu_health import GpuHealth
from railgauge.topo.findings.cards.health import GPU_ROW_REMAP
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.gpu_readings import has_health, unread
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

FROM_SM = 80  # Ampere


def _check(machine: Machine) -> Iterator[Finding]:
    able = [gpu for gpu in machine.sources.gpu_health.gpus if _able(machine, gpu)]
    for gpu in able:
        if gpu.remapped_rows is not None:
            yield from _rows(gpu)
            yield from _banks(gpu)
    yield from unread(RULE, machine, "remapped_rows", lambda gpu: gpu.remapped_rows is not None, able)


def _rows(gpu: GpuHealth) -> Iterator[Finding]:
    rows = {name: count or 0 for name, count in (gpu.remapped_rows or {}).items()}
    by_error = f"{rows.get('uncorrected', 0)} by uncorrectable errors, {rows.get('corrected', 0)} by correctable ones"
    if rows.get("failed"):
        message = f"{gpu.name}: a memory row could not be remapped (remapped so far: {by_error})"
        yield RULE.finding(Level.FAIL, gpu.bus_id, message, rows=rows)
    if rows.get("pending"):
        correctable = bool(rows.get("corrected")) and not rows.get("uncorrected")
        message = f"{gpu.name}: a memory row is to be remapped at the next reset (remapped so far: {by_error})"
        yield RULE.finding(Level.WARN if correctable else Level.FAIL, gpu.bus_id, message, rows=rows)
    elif not rows.get("failed") and any(rows.values()):
        yield RULE.finding(
            Level.INFO, gpu.bus_id, f"{gpu.name}: memory rows remapped: {by_error}", fix=False, rows=rows
        )


def _banks(gpu: GpuHealth) -> Iterator[Finding]:
    banks = {name: count or 0 for name, count in (gpu.remap_banks or {}).items()}
    if banks.get("none") or banks.get("low"):
        empty = bool(banks.get("none"))
        rest = f"{banks['none']} memory banks have no spare row left" if empty else f"{banks['low']} have few left"
        said = rest if empty else f"of the memory banks with spare rows {rest}"
        yield RULE.finding(Level.WARN if empty else Level.INFO, gpu.bus_id, f"{gpu.name}: {said}", banks=banks)


def _able(machine: Machine, gpu: GpuHealth) -> bool:
    """Whether a GPU remaps rows, or may: older ones retire pages."""
    known = machine.sources.gpu(gpu.bus_id)
    return gpu.remapped_rows is not None or known is None or known.sm >= FROM_SM


def _concerns(machine: Machine) -> bool:
    health = machine.sources.gpu_health
    return has_health(machine) and (not health.gpus or any(_able(machine, gpu) for gpu in health.gpus))


RULE = Rule(card=GPU_ROW_REMAP, concerns=_concerns, check=_check)
