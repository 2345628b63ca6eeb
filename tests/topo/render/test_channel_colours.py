# SPDX-License-Identifier: Apache-2.0
"""Colours of channels: all differ, and neighbours differ in grey too, on a light page and on a dark one."""

from itertools import pairwise

import pytest

from railgauge.topo.render.palette import PAGE, channel_colour

MOST = 32


def grey(colour):
    """WCAG 2: relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((grey(one), grey(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("page", [0, 1])
def test_channels_differ_from_each_other_and_from_the_page(page):
    colours = [channel_colour(number)[page] for number in range(MOST)]
    assert len(set(colours)) == MOST
    assert all(contrast(colour, PAGE[page]) > 2.5 for colour in colours)
    assert all(contrast(one, other) > 1.25 for one, other in pairwise(colours))
