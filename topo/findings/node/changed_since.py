# SPDX-License-Identifier: Apache-2.0
"""What else is not as in the baseline: driver, firmware, settings of the hardware, places, new devices."""

from collections.abc import Iterator

from railgauge.topo.errors import InputError
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node import slower_than_before
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule


def _check(case: Case) -> Iterator[Finding]:
    try:
        rest = slower_than_before.others(case)
    except InputError as error:  # a file that contradicts itself, which topo-file-faulty tells
        yield RULE.unknown(case.host, str(error))
        return
    yield from (slower_than_before.as_finding(RULE, Level.INFO, change) for change in rest)


RULE = Rule(
    id="changed-since",
    title="Not as in the baseline",
    levels=(Level.INFO, Level.UNKNOWN),
    about=(
        "A driver, firmware, a kernel, a device at another place: no fault by itself, and the first thing to look at "
        "when a machine that was well is not any more."
    ),
    passes="nothing else differs from the baseline",
    reads=("the baseline that --against names", "what topo diff compares"),
    sure="railgauge topo diff BASELINE live",
    remedy="make a new baseline when the change is meant: railgauge topo capture -o baseline.tar.zst",
    needs=(),
    concerns=lambda case: case.baseline is not None and case.baseline.case is not None,
    check=_check,
)
