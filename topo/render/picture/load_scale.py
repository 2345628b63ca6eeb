# SPDX-License-Identifier: Apache-2.0
"""How full a link is, in classes that differ by colour, with the legend's words."""

from typing import NamedTuple

from railgauge.topo.render.palette import LOADS, Colour

ROUNDING = 1e-3


class LoadClass(NamedTuple):
    """Links in use up to the share `most`; `name` is the SVG's class, and that of the colour."""

    name: str
    most: float
    words: str

    @property
    def colour(self) -> Colour:
        """Of a link of this class."""
        return LOADS[self.name]


SCALE = (
    LoadClass("idle", 0.0, "idle"),
    LoadClass("quarter", 0.25, "used to 25%"),
    LoadClass("half", 0.5, "to 50%"),
    LoadClass("most", 0.9, "to 90%"),
    LoadClass("full", 1.0, "to 100%"),
    LoadClass("over", float("inf"), "overloaded"),
)


def load_class(share: float) -> LoadClass:
    """The class of a link of which that share is in use."""
    return next(one for one in SCALE if share <= one.most + ROUNDING)
