# SPDX-License-Identifier: Apache-2.0
"""Other changes since the baseline: driver, firmware, settings of the hardware, places, new devices."""

from collections.abc import Iterator

from railgauge.topo.errors import InputError
from railgauge.topo.findings.cards.comparison import CHANGED_SINCE
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node import slower_than_before
from railgauge.topo.findings.node.baseline import SinceBaseline
from railgauge.topo.findings.node.rule import ComparisonRule


def _check(since: SinceBaseline) -> Iterator[Finding]:
    try:
        rest = slower_than_before.others(since)
    except InputError as error:  # an inconsistent file: topo-file-faulty reports it
        yield RULE.unknown(since.machine.host, str(error))
        return
    yield from (slower_than_before.as_finding(RULE, Level.INFO, change) for change in rest)


RULE = ComparisonRule(card=CHANGED_SINCE, concerns=lambda since: since.before is not None, check=_check)
