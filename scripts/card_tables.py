# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of findings in the documentation anew, from the cards: `python -m scripts.card_tables`.

A table stands between `<!-- cards: NAME -->` and `<!-- end of cards -->`, in any file below docs/; NAME is one of
TABLES.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from railgauge.topo.findings.card import Area, Card, in_area
from railgauge.topo.findings.node.rules import RULES
from railgauge.topo.findings.topology_file.rules import KNOWN

DOCS = Path(__file__).parents[1] / "docs"
MARKED = re.compile(r"(<!-- cards: ([a-z ]+) -->\n).*?(<!-- end of cards -->)", re.DOTALL)
ELEMENT = re.compile(r"<\w+>")

COLUMNS: dict[str, Callable[[Card], str]] = {
    "id": lambda card: f"`{card.id}`",
    "levels": lambda card: ", ".join(card.levels),
    "what": lambda card: card.title,
    "more": lambda card: card.about,
    "remedy": lambda card: card.remedy,
}
TABLES: dict[str, tuple[Callable[[], Iterable[Card]], tuple[str, ...]]] = {
    "check": (lambda: [rule.card for rule in RULES], ("id", "levels", "what")),
    "topo lint": (lambda: [rule.card for rule in KNOWN], ("id", "levels", "what", "remedy")),
    "graph lint": (lambda: in_area(Area.GRAPH_FILE), ("id", "levels", "what", "remedy")),
    "log": (lambda: in_area(Area.LOGS), ("id", "levels", "what")),
    "hang": (lambda: in_area(Area.HANG), ("id", "levels", "what", "more")),
}
"""The cards of each table, and its columns."""


def table(name: str) -> str:
    """A table in Markdown; ValueError for a name that there is not."""
    if name not in TABLES:
        raise ValueError(f"there is no table {name!r}; there are: {', '.join(TABLES)}")
    find, columns = TABLES[name]
    rows = [columns, ["---"] * len(columns), *([COLUMNS[one](card) for one in columns] for card in find())]
    return "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in rows)


def _cell(text: str) -> str:
    """Bars and elements as Markdown shows them."""
    return ELEMENT.sub(lambda found: f"`{found[0]}`", text).replace("|", "&#124;")


def written(text: str) -> str:
    """A document with its tables as they should be."""
    return MARKED.sub(lambda found: f"{found[1]}{table(found[2])}{found[3]}", text)


if __name__ == "__main__":
    for path in sorted(DOCS.rglob("*.md")):
        path.write_text(written(path.read_text()))
