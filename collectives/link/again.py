# SPDX-License-Identifier: Apache-2.0
"""Which pairs to measure again before judging them: a pure function of the results so far."""

from collections.abc import Mapping

from railgauge.collectives.link.odd import Judged
from railgauge.collectives.link.tournament import Pair

MOST_SAMPLES = 8
"""How often a pair is measured at most: what is unclear then stays unknown."""
LEAST_OTHERS = 6
"""At least this many good pairs are measured beside the unclear ones: they show the machines' load meanwhile."""
SEES_ENOUGH_BELOW = 0.6
"""While a pair at this share of the usual speed would not stand out, no pair is clear: half is a FAIL, and the usual
speed itself is no more certain.
"""


def is_clear(judged: Judged) -> bool:
    """Whether a pair would have stood out, if it were slow."""
    return judged.sees_below >= SEES_ENOUGH_BELOW and not judged.faster


def again(judged: Judged, measured: Mapping[Pair, int]) -> set[Pair]:
    """The pairs to measure again, none if all are decided or were measured often enough.

    `measured` is how often each was.
    """
    named = {(min(each), max(each)) for odd in judged.odd for each in odd.slow}
    open_ = {pair for pair, times in measured.items() if times < MOST_SAMPLES and pair not in named}
    if not is_clear(judged) and not judged.odd:  # once one is named, other candidates are not worth the time
        return open_
    unsure = open_ & set(judged.unsure)
    if not unsure:
        return set()
    others = sorted(open_ - unsure, key=lambda pair: (measured[pair], pair))
    return unsure | set(others[: max(len(unsure), LEAST_OTHERS)])
