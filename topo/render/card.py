# SPDX-License-Identifier: Apache-2.0
"""A card as `explain` prints it, and the list of all."""

from textwrap import fill

from railgauge.topo.findings.card import Card, areas_of_cards, cards, in_area, other_causes

COLUMNS = 80


def card_text(card: Card) -> str:
    """The whole card, without parts that it does not have."""
    parts = (
        f"{card.id}: {card.title} ({', '.join(card.levels)})",
        _paragraph("", card.about),
        _paragraph("Effect: ", card.effect),
        _listed("How it shows in logs", card.shows),
        _paragraph("Other causes of the same lines: ", ", ".join(other_causes(card))),
        _listed("Compare in logs (healthy jobs print such lines too)", card.hints),
        _listed("Reads", card.reads),
        _paragraph("How to be sure: ", card.sure),
        _paragraph("How to fix it: ", card.remedy),
        _listed("Seen in", card.links),
    )
    return "\n\n".join(part for part in parts if part)


def card_list() -> str:
    """Each area with its findings: a line for an id and its title, which goes on below itself where it is long."""
    width = max(map(len, cards()))
    areas = (f"{area}:\n" + "\n".join(_entry(card, width) for card in in_area(area)) for area in areas_of_cards())
    return "\n\n".join(areas)


def _entry(card: Card, width: int) -> str:
    return fill(
        card.title,
        COLUMNS,
        initial_indent=f"  {card.id:{width}}  ",
        subsequent_indent=" " * (width + 4),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _paragraph(title: str, text: str) -> str:
    """Lines that any terminal shows whole; commands are not broken within a word."""
    return fill(title + text, COLUMNS, break_long_words=False, break_on_hyphens=False) if text else ""


def _listed(title: str, lines: tuple[str, ...]) -> str:
    return "\n".join([f"{title}:", *(f"    {line}" for line in lines)]) if lines else ""
