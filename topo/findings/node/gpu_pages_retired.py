# SPDX-License-Identifier: Apache-2.0
"""Memory pages that GPUs before Ampere have retired."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.gpu_health import GpuHealth
from railgauge.topo.findings.cards.health import GPU_PAGES_RETIRED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.gpu_readings import has_health, unread
from railgauge.topo.findings.node.gpu_row_remap import FROM_SM
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

MOST_PAGES = 60  # NVIDIA's limit, from which a GPU is replaced


def _check(machine: Machine) -> Iterator[Finding]:
    able = _able(machine)
    for gpu in able:
        pages = {name: count or 0 for name, count in gpu.retired_pages.items()}
        count = pages.get("single_bit", 0) + pages.get("double_bit", 0)
        if pages.get("pending") or count:
            waiting = "; one more is retired at the next reset" if pages.get("pending") else ""
            message = f"{gpu.name}: {count} memory pages are retired{waiting}"
            bad = bool(pages.get("pending")) or count >= MOST_PAGES
            yield RULE.finding(Level.FAIL if bad else Level.INFO, gpu.bus_id, message, fix=bad, pages=pages)
    yield from unread(RULE, machine, "retired_pages", _known, able)


def _known(gpu: GpuHealth) -> bool:
    return any(count is not None for count in gpu.retired_pages.values())


def _able(machine: Machine) -> list[GpuHealth]:
    """The GPUs that retire pages; newer ones remap rows."""
    found = ((gpu, machine.sources.gpu(gpu.bus_id)) for gpu in machine.sources.gpu_health.gpus)
    return [gpu for gpu, known in found if _known(gpu) or (known is not None and known.sm < FROM_SM)]


def _concerns(machine: Machine) -> bool:
    if machine.facts is None:
        return True
    old = any(gpu.sm < FROM_SM for gpu in machine.facts.gpus)
    return bool(_able(machine)) or (has_health(machine) and old)


RULE = Rule(card=GPU_PAGES_RETIRED, concerns=_concerns, check=_check)
