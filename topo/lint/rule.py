# SPDX-License-Identifier: Apache-2.0
"""What a rule of the linter is: one thing that can be wrong in a topology file, and how to see it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from railgauge.topo.findings import Finding, Level
from railgauge.topo.lint.elements import Placed, TopoFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A stable id, one sentence of what is wrong, how to mend it, the levels it gives, and the check itself."""

    id: str
    title: str
    levels: tuple[Level, ...]
    remedy: str
    check: Callable[[TopoFile], Iterable[Finding]]

    def finding(
        self,
        level: Level,
        subject: str,
        message: str,
        *,
        effect: str = "",
        remedy: str | None = None,
        line: int | None = None,
        **evidence: Any,
    ) -> Finding:
        """A finding of this rule, with its remedy unless another is given."""
        return Finding(
            id=self.id,
            level=level,
            subject=subject,
            message=message,
            evidence=evidence,
            effect=effect,
            remedy=self.remedy if remedy is None else remedy,
            line=line,
        )

    def at(self, where: Placed, level: Level, message: str, *, subject: str | None = None, **more: Any) -> Finding:
        """A finding about an element, on its line; its subject is the PCI device unless said. `more`: see `finding`."""
        return self.finding(level, subject or where.bus_id, message, line=where.line, **more)
