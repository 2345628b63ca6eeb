# SPDX-License-Identifier: Apache-2.0
"""Counters of the physical layer beyond the thresholds of ibqueryerrors (its file error_thresholds)."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.fabric import CABLE_ERRORS
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level

THRESHOLDS = {
    "SymbolErrorCounter": 10,
    "LinkErrorRecoveryCounter": 10,
    "LinkDownedCounter": 10,
    "PortRcvErrors": 10,
    "LocalLinkIntegrityErrors": 10,
    "ExcessiveBufferOverrunErrors": 10,
}
"""Counts that infiniband-diags (etc/error_thresholds) takes for too many."""
OLD_NAMES = {"LinkErrorRecovery": "LinkErrorRecoveryCounter", "LinkDowned": "LinkDownedCounter"}


def _check(examined: ExaminedFabric) -> Iterator[Finding]:
    fabric = examined.fabric
    if fabric.counters is None:
        yield RULE.unknown("fabric", "no counters: give the output of ibqueryerrors as well")
        return
    for end, counters in fabric.counters.items():
        named = {OLD_NAMES.get(name, name): count for name, count in counters.items()}
        bad = {name: named[name] for name in THRESHOLDS if named.get(name, 0) > THRESHOLDS[name]}
        if not bad:
            continue
        cable = fabric.cable_at.get(end)
        what = ", ".join(f"{name} {count}" for name, count in bad.items())
        where = f"{fabric.end_name(end)} (cable {fabric.cable_name(cable)})" if cable else fabric.end_name(end)
        yield RULE.finding(Level.WARN, fabric.end_name(end), f"{where} counts {what}", counters=bad)


RULE = FileRule(card=CABLE_ERRORS, check=_check)
