# SPDX-License-Identifier: Apache-2.0
"""Finds the card of an error message of NCCL, PyTorch, CUDA and perftest, in the words of any release.

The words are the patterns of the cards. Sources: NCCL's own sources, 2.4 to 2.30, and the trackers of NCCL, nccl-tests,
PyTorch, vLLM and perftest, where the lines were reported.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from railgauge.topo.findings.card import FAIL, Card, Pattern, cards
from railgauge.topo.findings.cards.logs import JOB_FAILED
from railgauge.topo.jobs.logs.needles import needles

OF_COMMUNICATION = re.compile(
    r"(?i)gloo|c10d|torch\.distributed|tcpstore|processgroup|\bucx\b|\bmpi|btl_tcp|\bxla|\bhydu_|pmiserv|\bccom\b|nvshmem"
)
WARNS = re.compile(r"\[W[ \d]|(?<!\bccom )\bwarn(?:ing)?\b", re.IGNORECASE)
"""A library that connects warns of attempts that it repeats."""
OF_A_FAULT = 1
"""The most general words that are of one fault; others are of a part of NCCL."""


class Entry(NamedTuple):
    """One of a card's patterns."""

    card: Card
    pattern: Pattern


@cache
def catalogue() -> tuple[Entry, ...]:
    """All patterns, the general ones last; of these what a program says of any failure."""
    entries = [Entry(card, pattern) for card in cards().values() for pattern in card.patterns]
    return tuple(sorted(entries, key=lambda entry: (entry.pattern.general, entry.card is JOB_FAILED)))


@cache
def _compiled(at: int) -> re.Pattern[str]:
    """The pattern of the entry at a place; few are ever needed."""
    return re.compile(catalogue()[at].pattern.regex)


@cache
def _needles() -> tuple[tuple[tuple[str, int], ...], tuple[int, ...]]:
    """The texts without which an entry, by its place, matches no line; and the places of those that have none."""
    of_entries = [needles(entry.pattern.regex) for entry in catalogue()]
    pairs = tuple((needle, at) for at, found in enumerate(of_entries) for needle in found or ())
    return pairs, tuple(at for at, found in enumerate(of_entries) if found is None)


def _matches(text: str) -> Iterator[Entry]:
    """The entries that match a text, in their order."""
    pairs, always = _needles()
    low = text.lower()
    for at in sorted({at for needle, at in pairs if needle in low} | {*always}):
        if _compiled(at).search(text):
            yield catalogue()[at]


def entry_of(text: str, level: str) -> Entry | None:
    """The entry that a message of NCCL's `level` ("" for another program's) is; None for none.

    At INFO NCCL reports attempts that it repeats: only permanent ones count there, and suspects. Words of a part of
    NCCL count in its warnings alone, and words that any program uses in lines of libraries that connect ranks.
    """
    foreign = not (level or (OF_COMMUNICATION.search(text) and not WARNS.search(text)))
    most = len(catalogue()) if level == "WARN" else OF_A_FAULT
    fits = (one for one in _matches(text) if one.pattern.general <= most and not (foreign and one.pattern.common))
    entry = next(fits, None)
    if entry and level == "INFO" and entry.pattern.level is FAIL and not entry.pattern.suspect:
        return next((one for one in fits if one.card is entry.card and one.pattern.level is not FAIL), None)
    return entry


def fit(text: str) -> tuple[int, int]:
    """How well a warning fits its entry, the best lowest: of two ways to join lines, that with more words of it."""
    entry = entry_of(text, "WARN")
    found = entry and re.search(entry.pattern.regex, text)
    return (entry.pattern.general, found.start() - found.end()) if entry and found else (len(catalogue()), 0)


@cache
def other_causes_of(entry: Entry) -> tuple[str, ...]:
    """The ids of the other cards that show such a line."""
    return tuple(
        card.id
        for card in cards().values()
        if card is not entry.card and any(_is_line_of(entry, line) for line in card.shows)
    )


def _is_line_of(entry: Entry, line: str) -> bool:
    return next(_matches(line), None) == entry
