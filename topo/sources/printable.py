# SPDX-License-Identifier: Apache-2.0
"""What a machine tells, made fit to be printed: a name or a file must not steer the terminal that shows it."""

import re
from typing import TypeVar

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")  # C0 and C1, but for tabs and line ends
MARK = "\ufffd"
LONGEST_LINE = 4000
Value = TypeVar("Value")


def printable(text: str) -> str:
    """A text with U+FFFD for each control character."""
    return text if text.isprintable() else CONTROL.sub(MARK, text)


def one_line(text: str) -> str:
    """The same, on one line of at most LONGEST_LINE characters."""
    return " ".join(printable(text[:LONGEST_LINE]).split())


def printable_texts(texts: dict[str, str]) -> dict[str, str]:
    """As `all_printable`; texts that need nothing, which are nearly all, are found to do so at once."""
    whole = "".join((*texts, *texts.values()))
    return texts if whole.replace("\n", "").replace("\t", "").isprintable() else all_printable(texts)


def all_printable(value: Value) -> Value:
    """A JSON value with all its texts made printable, keys too."""
    if isinstance(value, str):
        return type(value)(printable(value))
    if isinstance(value, dict):
        return type(value)((all_printable(key), all_printable(one)) for key, one in value.items())
    if isinstance(value, list):
        return type(value)(all_printable(one) for one in value)
    return value
