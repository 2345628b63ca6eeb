# SPDX-License-Identifier: Apache-2.0
"""What an earlier look at a machine told: its findings, and the machine itself where more than those was kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railgauge.topo.findings.finding import Finding

if TYPE_CHECKING:
    from railgauge.topo.findings.node.case import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """`name` is what was given, `host` the machine's name; `case` is None where findings are all that was kept."""

    name: str
    host: str
    findings: Sequence[Finding]
    case: "Case | None" = None
