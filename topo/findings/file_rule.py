# SPDX-License-Identifier: Apache-2.0
"""A rule about files of one kind: a card, and its check."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from railgauge.topo.errors import INTERNAL_ERROR, Error, LeftOutError, described
from railgauge.topo.findings.card import Card
from railgauge.topo.findings.finding import Finding, Level

File = TypeVar("File")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRule(Generic[File]):
    """A detector: the card of its findings, and the check."""

    card: Card
    check: Callable[[File], Iterable[Finding]]

    @property
    def id(self) -> str:
        """The id of its findings."""
        return self.card.id

    def finding(
        self,
        level: Level,
        subject: str,
        message: str,
        *,
        effect: str = "",
        fix: bool = True,
        line: int | None = None,
        **evidence: Any,
    ) -> Finding:
        """A finding of its card; see Card.finding."""
        return self.card.finding(level, subject, message, effect=effect, fix=fix, line=line, evidence=evidence)

    def unknown(self, subject: str, missing: str, **evidence: Any) -> Finding:
        """UNKNOWN about a subject: what was missing, such as a permission, and what to try."""
        return self.finding(Level.UNKNOWN, subject, missing, fix=False, **evidence)

    def find(self, file: File, subject: str = "") -> list[Finding]:
        """What the check finds in a file, guarded; `subject`: that of UNKNOWN if the rule itself fails."""
        return guarded(self.id, subject, lambda: self.check(file))


def guarded(identifier: str, subject: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """The findings of a rule. If it fails, they end with UNKNOWN and the error, so that the other rules still report;
    errors raised on purpose, such as InputError, pass, but for a part that is left out.
    """
    found: list[Finding] = []
    try:
        found.extend(look())
    except LeftOutError as error:
        found.append(Finding(id=identifier, level=Level.UNKNOWN, subject=subject, message=str(error)))
    except Error:
        raise
    except Exception as error:
        found.append(failed(identifier, subject, error))
    return found


def failed(identifier: str, subject: str, error: Exception) -> Finding:
    """UNKNOWN for a rule that could not answer because of an error in railgauge."""
    said = described(error)
    return Finding(
        id=identifier,
        level=Level.UNKNOWN,
        subject=subject,
        message=f"{INTERNAL_ERROR}{said}",
        evidence={"error": said},
        error=said,
    )
