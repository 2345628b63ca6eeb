# SPDX-License-Identifier: Apache-2.0
"""What changed from one check of a node to the next: a line for each change, and a record of it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.node.history import WITHIN_S, FindingEvent
from railgauge.topo.render.findings import record, summary
from railgauge.topo.render.palette import LEVEL_INKS, Ink, Line
from railgauge.topo.values.printable import inline


def first_line(host: str, findings: Sequence[Finding], every_s: float) -> Line:
    """What is watched, and how it stands."""
    return ((inline(f"watching {host or 'this machine'} every {every_s:g} s: {summary(findings)}"), Ink.PLAIN),)


def event_lines(events: Iterable[FindingEvent], time_text: str) -> Iterator[Line]:
    """A line for each change. time_text: when, in ISO 8601."""
    for event in events:
        one = event.finding
        about = "" if one.subject in one.message else f"{one.subject}: "
        flaps = f" ({event.flaps} changes in {WITHIN_S / 60:g} min)" if event.flaps else ""
        yield (
            (f"{time_text} {event.transition} ", Ink.PLAIN),
            (str(one.level), LEVEL_INKS[one.level]),
            (inline(f" {one.id}: {about}{one.message}{flaps}"), Ink.PLAIN),
        )


def event_records(events: Iterable[FindingEvent]) -> list[dict[str, Any]]:
    """The changes in a JSON document."""
    return [{"change": str(event.transition), "flaps": event.flaps, **record(event.finding)} for event in events]
