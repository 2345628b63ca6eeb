# SPDX-License-Identifier: Apache-2.0
"""When lines were written, by the timestamps before them.

Times of two files are compared only where both have a zone or both have none; those without one are of the same zone
in one job. Stamps without a year (glog, vLLM, syslog) are compared within a year.

    [2025-03-01 10:11:12] host:1:2 [0] file.cc:1 NCCL WARN ...    NCCL since 2.26, NCCL_DEBUG_TIMESTAMP_FORMAT
    [rank3]:[E603 17:48:01.1 ProcessGroupNCCL.cpp:616] ...        PyTorch and glog: month and day
    2025-03-01T10:11:12.123456789Z stderr F ...                   Kubernetes
    ERROR 03-01 10:11:12 [core.py:1] ...                          vLLM
    Mar  1 10:11:12 host ...                                      syslog
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

FARTHEST = 160
"""Characters of a line before which a timestamp of its own stands."""
CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<part>\d{1,9}))?"
FULL = re.compile(
    rf"\b(?P<year>[12]\d{{3}})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T ]{CLOCK} ?(?P<zone>Z|[+-]\d\d:?\d\d\b)?"
)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
SHORT = (
    re.compile(rf"\b[EWIF](?P<month>\d{{1,2}})(?P<day>\d\d) {CLOCK}"),
    re.compile(rf"\b(?:DEBUG|INFO|WARNING|ERROR) (?P<month>\d\d)-(?P<day>\d\d) {CLOCK}"),
    re.compile(rf"\b(?P<name>{'|'.join(MONTHS)}) +(?P<day>\d{{1,2}}) {CLOCK}"),
)
NO_YEAR = 2000  # a leap year
HALF_A_YEAR = timedelta(days=183)


class Moment(NamedTuple):
    """When a line was written: by a stamp with its zone, in UTC, and by one without. file: its number, from 0."""

    zoned: datetime | None
    local: datetime | None
    host: str
    file: int

    def __str__(self) -> str:
        at = self.zoned or self.local
        if at is None:
            return ""
        return f"{at:{'%m-%d' if at.year == NO_YEAR else '%Y-%m-%d'} %H:%M:%S}{' UTC' if self.zoned else ''}"


def moment_of(prefix: str, host: str, file: int) -> Moment:
    """The moment of a line by what stands before its message."""
    zoned = local = None
    for found in FULL.finditer(prefix[:FARTHEST]):
        if found["zone"]:
            zoned = zoned or _read(found, int(found["year"]))
        else:
            local = local or _read(found, int(found["year"]))
    for form in SHORT if local is None else ():
        if found_short := form.search(prefix[:FARTHEST]):
            local = local or _read(found_short, NO_YEAR)
    return Moment(zoned, local, host, file)


def earlier(one: Moment, other: Moment) -> Moment:
    """The earlier one of two moments; the first where that is not known."""
    times = times_of((one, other))
    return other if times and times[1] < times[0] else one


def _read(found: re.Match[str], year: int) -> datetime | None:
    facts = found.groupdict()
    month = MONTHS.index(facts["name"]) + 1 if facts.get("name") else int(facts["month"])
    with suppress(ValueError, OverflowError):
        day, hour, minute, second = (int(facts[key]) for key in ("day", "hour", "minute", "second"))
        at = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        return at + timedelta(seconds=float(f"0.{facts['part'] or 0}")) - _offset(facts.get("zone") or "Z")
    return None


def _offset(zone: str) -> timedelta:
    if zone == "Z":
        return timedelta()
    east = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return -east if zone[0] == "-" else east


def times_of(moments: Sequence[Moment]) -> list[datetime] | None:
    """The times of some moments on one clock; None where they have none in common."""
    for times in ([one.zoned for one in moments], [one.local for one in moments]):
        known = [at for at in times if at is not None]
        if len(known) < len(moments):
            continue
        if any(at.year == NO_YEAR for at in known):
            known = [at.replace(year=NO_YEAR) for at in known]
            if max(known) - min(known) > HALF_A_YEAR:
                return None  # over the turn of a year, or years apart
        return known
    return None
