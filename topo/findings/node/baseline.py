# SPDX-License-Identifier: Apache-2.0
"""The baseline of a machine: findings of an earlier check, and the machine itself if a capture was kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railgauge.topo.findings.finding import Finding

if TYPE_CHECKING:
    from railgauge.topo.findings.node.case import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """`name` as given on the command line, `host`: the machine's name; `case`: None if only findings were kept."""

    name: str
    host: str
    findings: Sequence[Finding]
    case: "Case | None" = None
