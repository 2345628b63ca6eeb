# SPDX-License-Identifier: Apache-2.0
"""What a rule about files of one kind is: one thing that can be wrong, and how to see it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from railgauge.topo.errors import Error, described
from railgauge.topo.findings.finding import Finding, Level

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

    def find(self, file: File, subject: str = "") -> list[Finding]:
        """What the check finds in a file, guarded; `subject`: of the UNKNOWN of a rule that fails by itself."""
        return guarded(self.id, subject, lambda: self.check(file))


def guarded(identifier: str, subject: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What a rule finds. Where it fails by itself, UNKNOWN with the error comes behind what it had found until then, so
    that the other rules have their say; errors that are raised on purpose, such as InputError, pass.
    """
    found: list[Finding] = []
    try:
        found.extend(look())
    except Error:
        raise
    except Exception as error:
        found.append(failed(identifier, subject, error))
    return found


def failed(identifier: str, subject: str, error: Exception) -> Finding:
    """UNKNOWN for a rule that could not answer because of an error of railgauge itself."""
    said = described(error)
    return Finding(
        id=identifier,
        level=Level.UNKNOWN,
        subject=subject,
        message=f"an error of railgauge itself: {said}",
        evidence={"error": said},
        error=said,
    )
