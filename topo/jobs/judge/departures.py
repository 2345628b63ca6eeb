# SPDX-License-Identifier: Apache-2.0
"""Where a curve departs: sizes that fall out of it, and the size from which it grows no more.

With a forecast, the curve is that of measured over forecast, so that what NCCL itself does (another protocol from some
size on) is no departure; without one it is the bandwidth, and only what recovers is a dip.
"""

from collections.abc import Mapping
from statistics import median

from railgauge.topo.jobs.judge.curve import Sized

DIP = 0.6
"""Share of the sizes around it below which a size is a dip."""
AROUND = 2
WIDE = 4
"""How many sizes in a row a dip may have: of a factor of 2, from 16 MiB to 128 MiB."""
FLAT = 1.15
"""A curve that gains less from a size on to its end has reached its plateau there."""
MISSED = 1.5
"""How much more the forecast gains from there on, that the plateau is early."""
FROM = 256 << 10
"""Smaller sizes are latency: each figure is a few microseconds."""


def dips(curve: list[Sized], forecast: Mapping[int, float] | None = None) -> list[Sized]:
    """The sizes, up to WIDE in a row, whose bandwidth is below that of the sizes on both sides of them."""
    shares = [one.gb_per_s / forecast.get(one.size, one.gb_per_s) if forecast else one.gb_per_s for one in curve]
    found: set[Sized] = set()
    for width in range(1, WIDE + 1):
        for at in range(1, len(curve) - width):
            before, within = shares[max(0, at - AROUND) : at], shares[at : at + width]
            after = shares[at + width : at + width + AROUND]
            below = max(within) < DIP * min(median(before), median(after))
            top = max(item.gb_per_s for item in curve[:at])
            if curve[at].size >= FROM and below and max(one.gb_per_s for one in curve[at : at + width]) < top:
                found.update(curve[at : at + width])
    return sorted(found)


def collapse(curve: list[Sized]) -> Sized | None:
    """The size from which all have less than a share of what smaller ones reached; None where none does."""
    for at in range(1, len(curve)):
        if curve[at].size >= FROM:
            top = max(one.gb_per_s for one in curve[:at])
            if max(one.gb_per_s for one in curve[at:]) < DIP * top:
                return curve[at]
    return None


def plateau(curve: list[Sized], forecast: Mapping[int, float]) -> Sized | None:
    """The size from which the curve gains nothing while the forecast goes on; None if it is not early."""
    last = curve[-1]
    for one in curve[:-1]:
        if one.size < FROM:
            continue
        rest = [item.gb_per_s for item in curve if item.size >= one.size]
        if max(rest) < FLAT * one.gb_per_s and one.size in forecast and last.size in forecast:
            return one if forecast[last.size] > MISSED * forecast[one.size] and len(rest) > AROUND else None
    return None
