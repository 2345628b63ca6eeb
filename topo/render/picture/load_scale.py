# SPDX-License-Identifier: Apache-2.0
"""How full a wire is, in classes that can be told apart by colour, with the legend's words."""

from typing import NamedTuple

ROUNDING = 1e-3


class LoadClass(NamedTuple):
    """Wires in use up to the share `most`, and their colour on light and on dark pages; `name` is the SVG's class."""

    name: str
    most: float
    words: str
    light: str
    dark: str


SCALE = (
    LoadClass("idle", 0.0, "idle", "#c3cad2", "#3a434e"),
    LoadClass("quarter", 0.25, "used to 25%", "#5b9bd5", "#6fb1ea"),
    LoadClass("half", 0.5, "to 50%", "#2f6fb5", "#3f8ede"),
    LoadClass("most", 0.9, "to 90%", "#e08a1e", "#f0a33c"),
    LoadClass("full", 1.0, "to 100%", "#b8431f", "#f2703f"),
    LoadClass("over", float("inf"), "overloaded", "#d1007a", "#ff5fb4"),
)


def load_class(share: float) -> LoadClass:
    """The class of a wire of which that share is in use."""
    return next(one for one in SCALE if share <= one.most + ROUNDING)
