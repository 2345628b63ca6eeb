# SPDX-License-Identifier: Apache-2.0
"""A card as `explain` prints it."""

from textwrap import fill

from railgauge.topo.findings.card import Card, other_causes

COLUMNS = 80


def card_text(card: Card) -> str:
    """All that the card says; parts that it does not have are left out."""
    parts = (
        f"{card.id}: {card.title} ({', '.join(card.levels)})",
        _paragraph("", card.about),
        _paragraph("What follows: ", card.effect),
        _listed("How it shows in logs", card.shows),
        _paragraph("The same lines come from: ", ", ".join(other_causes(card))),
        _listed("Compare in logs, where sound jobs print such lines too", card.hints),
        _listed("What is read", card.reads),
        _paragraph("How to be sure: ", card.sure),
        _paragraph("How to fix it: ", card.remedy),
        _listed("Seen in", card.links),
    )
    return "\n\n".join(part for part in parts if part)


def _paragraph(title: str, text: str) -> str:
    """Lines that any terminal shows whole; commands are not broken within a word."""
    return fill(title + text, COLUMNS, break_long_words=False, break_on_hyphens=False) if text else ""


def _listed(title: str, lines: tuple[str, ...]) -> str:
    return "\n".join([f"{title}:", *(f"    {line}" for line in lines)]) if lines else ""
