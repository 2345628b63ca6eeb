# SPDX-License-Identifier: Apache-2.0
"""Which error of several files came first: by their timestamps, or said to be unknown."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from railgauge.topo.jobs.logs.moment import Moment, times_of
from railgauge.topo.jobs.logs.records import Sighting
from railgauge.topo.jobs.logs.words import named

CLOCKS = timedelta(seconds=1)
"""By how much the clocks of two hosts of a job may differ, and what most stamps resolve."""
NO_ORDER = "; which error came first is not known: the files have no timestamps that can be compared"
TIE = "; which error came first is not known: those of several files are less than a second apart"


def in_time(sightings: Sequence[Sighting]) -> tuple[list[Sighting], str]:
    """The errors in the order of time, and a sentence on it where they are in several files.

    Where not all have timestamps on one clock the order is that of the files and their lines.
    """
    moments = [moment for seen in sightings for moment in seen.moments.values()]
    several = len({moment.file for moment in moments}) > 1
    times = times_of(moments) if moments else None
    if times is None:
        return list(sightings), NO_ORDER if several else ""
    at = dict(zip(map(id, moments), times, strict=True))
    ordered = sorted(sightings, key=lambda seen: min(at[id(moment)] for moment in seen.moments.values()))
    return ordered, _first(moments, min(moments, key=lambda moment: at[id(moment)]), at) if several else ""


def _first(moments: Sequence[Moment], first: Moment, at: dict[int, datetime]) -> str:
    near = [one for one in moments if at[id(one)] - at[id(first)] < CLOCKS]
    if len({one.file for one in near}) > 1:
        return TIE
    return f"; the first error in time: on {named([first.host])} at {first}"
