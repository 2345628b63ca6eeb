# SPDX-License-Identifier: Apache-2.0
"""What a rule about files of one kind is: one thing that can be wrong, and how to see it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from railgauge.topo.findings import Finding, Level

File = TypeVar("File")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRule(Generic[File]):
    """A stable id, one sentence of what is wrong, how to mend it, the levels it gives, and the check itself."""

    id: str
    title: str
    levels: tuple[Level, ...]
    remedy: str
    check: Callable[[File], Iterable[Finding]]

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
