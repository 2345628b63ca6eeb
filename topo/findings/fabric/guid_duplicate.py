# SPDX-License-Identifier: Apache-2.0
"""One GUID on two devices: in two records of one file, or at two captured ports."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.fabric import GUID_DUPLICATE
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level


def _check(examined: ExaminedFabric) -> Iterator[Finding]:
    found: dict[tuple[str, ...], list[str]] = {}
    for address, names in examined.fabric.duplicates.items():
        found.setdefault(names, []).append(address)
    for names, addresses in found.items():
        yield RULE.finding(
            Level.FAIL,
            addresses[0],
            f"GUID {addresses[0]} is that of {' and of '.join(names)}",
            guids=addresses,
            devices=list(names),
        )


RULE = FileRule(card=GUID_DUPLICATE, check=_check)
