# SPDX-License-Identifier: Apache-2.0
"""NCCL segments in /dev/shm that no process maps: left by killed jobs."""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.facts.sources.shared_memory import YOUNG_S
from railgauge.topo.findings.cards.process import SHM_LEFTOVERS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

MUCH = 0.25  # of /dev/shm: then it matters to the next job
MB = 1_000_000


def _check(machine: Machine) -> Iterator[Finding]:
    memory = machine.sources.shared_memory
    if memory is None or memory.error:
        yield RULE.unknown("/dev/shm", memory.error if memory else "its contents were not captured")
        return
    old = [segment for segment in memory.segments if segment.held is not True and segment.age_s >= YOUNG_S]
    if not old:
        return
    taken = sum(segment.size_bytes for segment in old)
    sure = all(segment.held is False for segment in old)
    evidence: dict[str, Any] = {
        "segments": [segment.name for segment in old],
        "bytes": taken,
        "size_bytes": memory.size_bytes,
    }
    message = f"{len(old)} NCCL segment{'s' * (len(old) > 1)}, {taken / MB:.0f} MB, not mapped by any process"
    if sure:
        level = Level.WARN if taken >= MUCH * memory.size_bytes else Level.INFO
        yield RULE.finding(level, "/dev/shm", message, **evidence)
    else:
        yield RULE.unknown("/dev/shm", f"{message}, as far as readable: processes of other users need root", **evidence)


RULE = Rule(card=SHM_LEFTOVERS, check=_check)
