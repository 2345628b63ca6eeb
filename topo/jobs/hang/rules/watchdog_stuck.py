# SPDX-License-Identifier: Apache-2.0
"""Ranks whose watchdog thread itself made no progress."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.hang import WATCHDOG_STUCK
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.hang.model import named
from railgauge.topo.jobs.hang.standstill import Standstill


def _check(standstill: Standstill) -> Iterator[Finding]:
    by_time: dict[int, list[int]] = {}
    for rank, seconds in sorted(standstill.scene.asleep.items()):
        by_time.setdefault(seconds, []).append(rank)
    for seconds, ranks in by_time.items():
        message = f"the watchdog thread of {named(ranks)} made no progress{f' for {seconds} s' if seconds else ''}"
        yield RULE.finding(Level.FAIL, named(ranks), message, ranks=ranks, seconds=seconds)


RULE: FileRule[Standstill] = FileRule(card=WATCHDOG_STUCK, check=_check)
