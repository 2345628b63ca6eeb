# SPDX-License-Identifier: Apache-2.0
"""A card as `explain` prints it, and the list of all."""

from textwrap import fill

from railgauge.topo.findings.card import Card, areas_of_cards, cards, in_area, other_causes
from railgauge.topo.render.wrapping import wrapped_text

COLUMNS = 80
"""The width where there is no terminal: any shows such lines whole."""


def card_text(card: Card, columns: int = COLUMNS) -> str:
    """The whole card, without parts that it does not have; paragraphs are `columns` wide."""
    parts = (
        f"{card.id}: {card.title} ({', '.join(card.levels)})",
        _paragraph("", card.about, columns),
        _paragraph("Effect: ", card.effect, columns),
        _listed("How it shows in logs", card.shows),
        _paragraph("Other causes of the same lines: ", ", ".join(other_causes(card)), columns),
        _listed("Compare in logs (healthy jobs print such lines too)", card.hints),
        _listed("Reads", card.reads),
        _paragraph("How to be sure: ", card.sure, columns),
        _paragraph("How to fix it: ", card.remedy, columns),
        _listed("Seen in", card.links),
    )
    return "\n\n".join(part for part in parts if part)


def card_list(columns: int = COLUMNS) -> str:
    """Each area with its findings: a line for an id and its title, which goes on below itself where it is long."""
    width = max(map(len, cards()))
    areas = (
        f"{area}:\n" + "\n".join(_entry(card, width, columns) for card in in_area(area)) for area in areas_of_cards()
    )
    return "\n\n".join(areas)


def _entry(card: Card, width: int, columns: int) -> str:
    return "\n".join(wrapped_text(f"  {card.id:{width}}  {card.title}", columns, width + 4))


def _paragraph(title: str, text: str, columns: int) -> str:
    """Commands are not broken within a word."""
    return fill(title + text, columns, break_long_words=False, break_on_hyphens=False) if text else ""


def _listed(title: str, lines: tuple[str, ...]) -> str:
    return "\n".join([f"{title}:", *(f"    {line}" for line in lines)]) if lines else ""
