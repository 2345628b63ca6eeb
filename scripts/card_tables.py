# SPDX-License-Identifier: Apache-2.0
"""Writes what the documentation says of findings from the cards: `python -m scripts.card_tables`.

It stands between `<!-- cards: NAME -->` and `<!-- end of cards -->`, in any file below docs/; NAME is one of TABLES, or
EVERYTHING: all cards whole, area by area, or XIDS or SXIDS: the catalogue of the driver's messages.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from railgauge.topo.findings.card import OF_LOGS, Area, Card, in_area, other_causes
from railgauge.topo.findings.node.rules import RULES
from railgauge.topo.findings.topology_file.rules import KNOWN
from railgauge.topo.findings.xid_catalogue import SXIDS, XIDS, XidMeaning
from railgauge.topo.values.spans import listed

DOCS = Path(__file__).parents[1] / "docs"
MARKED = re.compile(r"(<!-- cards: ([a-z ]+) -->\n).*?(<!-- end of cards -->)", re.DOTALL)
ELEMENT = re.compile(r"<\w+>")

COLUMNS: dict[str, Callable[[Card], str]] = {
    "id": lambda card: f"[`{card.id}`](../reference/findings.md#{card.id})",
    "levels": lambda card: ", ".join(card.levels),
    "what": lambda card: card.title,
    "more": lambda card: card.about,
    "remedy": lambda card: card.remedy,
}
TABLES: dict[str, tuple[Callable[[], Iterable[Card]], tuple[str, ...]]] = {
    "check": (lambda: [rule.card for rule in RULES], ("id", "levels", "what")),
    "topo lint": (lambda: [rule.card for rule in KNOWN], ("id", "levels", "what", "remedy")),
    "graph lint": (lambda: in_area(Area.GRAPH_FILE), ("id", "levels", "what", "remedy")),
    "log": (
        lambda: [card for area in OF_LOGS for card in in_area(area)],
        ("id", "levels", "what"),
    ),
    "judge": (lambda: in_area(Area.MEASURED), ("id", "levels", "what")),
    "recordings": (lambda: in_area(Area.RECORDINGS), ("id", "levels", "what", "remedy")),
    "hang": (lambda: in_area(Area.HANG), ("id", "levels", "what", "more")),
}
"""The cards of each table, and its columns."""
EVERYTHING = "everything"
CATALOGUES = {"xids": XIDS, "sxids": SXIDS}
NAMES = {*TABLES, *CATALOGUES, EVERYTHING}


def content(name: str) -> str:
    """What stands below a name, in Markdown; ValueError for a name that there is not."""
    if name not in NAMES:
        raise ValueError(f"there is no {name!r}; there are: {', '.join(sorted(NAMES))}")
    if name in CATALOGUES:
        return catalogue_table(CATALOGUES[name])
    return "".join(map(area_text, Area)) if name == EVERYTHING else table(name)


def area_text(area: Area) -> str:
    """All cards of an area, each below a heading that is its id."""
    return f"\n## {area[0].upper()}{area[1:]}\n" + "".join(map(card_text, in_area(area)))


def card_text(card: Card) -> str:
    """All that a card says; parts that it does not have are left out."""
    parts = (
        f"### {card.id}",
        f"**{_plain(card.title)}** ({', '.join(card.levels)})",
        _plain(card.about),
        _labelled("Effect", _plain(card.effect)),
        _labelled("Fix", _plain(card.remedy)),
        _labelled("How to be sure", _plain(card.sure)),
        _labelled("Read", ", ".join(f"`{one}`" for one in card.reads)),
        _block("In logs", card.shows),
        _labelled("Other causes of these lines", ", ".join(f"[{one}](#{one})" for one in other_causes(card))),
        _block("Compare in logs of jobs that run well", card.hints),
        _labelled("Seen in", ", ".join(f"<{one}>" for one in card.links)),
    )
    return "".join(f"\n{part}\n" for part in parts if part)


def _labelled(label: str, text: str) -> str:
    return f"{label}: {text}" if text else ""


def _block(label: str, lines: tuple[str, ...]) -> str:
    """Lines of logs as a block of code."""
    return "\n".join([f"{label}:\n", *(f"    {line}" for line in lines)]) if lines else ""


def _plain(text: str) -> str:
    """Stars and elements as Markdown shows them."""
    return ELEMENT.sub(lambda found: f"`{found[0]}`", text.replace("*", r"\*"))


def table(name: str) -> str:
    """A table in Markdown."""
    find, columns = TABLES[name]
    rows = [columns, ["---"] * len(columns), *([COLUMNS[one](card) for one in columns] for card in find())]
    return "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in rows)


def catalogue_table(meanings: Mapping[int, XidMeaning]) -> str:
    """The numbers of messages as a table, those of one meaning in one row."""
    rows: dict[XidMeaning, list[int]] = {}
    for code, meaning in sorted(meanings.items()):
        rows.setdefault(meaning, []).append(code)
    head = "| number | level | meaning | what to do |\n| --- | --- | --- | --- |\n"
    return head + "".join(
        f"| {listed(codes)} | {one.action.level} | {_cell(one.words)} | {one.action.words} |\n"
        for one, codes in rows.items()
    )


def _cell(text: str) -> str:
    """Bars and elements as Markdown shows them."""
    return ELEMENT.sub(lambda found: f"`{found[0]}`", text).replace("|", "&#124;")


def written(text: str) -> str:
    """A document with its parts as they should be."""
    return MARKED.sub(lambda found: f"{found[1]}{content(found[2])}{found[3]}", text)


if __name__ == "__main__":
    for path in sorted(DOCS.rglob("*.md")):
        path.write_text(written(path.read_text()))
