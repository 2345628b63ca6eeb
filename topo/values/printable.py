# SPDX-License-Identifier: Apache-2.0
"""Makes foreign text printable: a name or a file must not control the terminal, hide or reverse the text beside it, or
add lines.

Readers return values on one line (`inline`, `all_printable`, `file_text`). All printed or written text passes through
`printable` again (cli/streams.py, cli/terminal.py, cli/output.py), so that no reader has to be trusted.
"""

import re
from typing import TypeVar

CONTROL = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u180e\\u200b-\\u200f"
    "\\u2028-\\u202e\\u2060-\\u206f\\ud800-\\udfff\\ufeff\\ufff0-\\ufffb\\ufffe\\uffff\\U000110bd\\U000110cd"
    "\\U00013430-\\U0001343f\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]"
)
"""Unicode's control and format characters (Cc, Cf: bidi marks, zero-width characters), line and paragraph separators,
surrogates, and characters that XML does not allow; except tabs and line feeds."""
MARK = "\ufffd"
LONGEST_LINE = 4000
VALUES = ("/sys/", "/proc/sys/")
"""Folders whose files hold one value on one line."""
PROPERTIES = "/uevent"
"""The exception: a file with several lines."""
Value = TypeVar("Value")


def printable(text: str, mark: str = MARK) -> str:
    """A text of any number of lines, with `mark` for each control character; a line ends with a line feed alone."""
    if text.isprintable() or text.replace("\n", "").isprintable():
        return text
    return CONTROL.sub(mark, text.replace("\r\n", "\n"))


def inline(text: str, mark: str = MARK) -> str:
    """The same for a name or value: line feeds and tabs become spaces."""
    return text if text.isprintable() else printable(text, mark).replace("\n", " ").replace("\t", " ")


def one_line(text: str) -> str:
    """The same for a message: at most LONGEST_LINE characters, one space between words."""
    return " ".join(printable(text[:LONGEST_LINE]).split())


def file_text(path: str, text: str) -> str:
    """The content of the machine's file of this path, printable."""
    return inline(text) if path.startswith(VALUES) and not path.endswith(PROPERTIES) else printable(text)


def all_printable(value: Value) -> Value:
    """A JSON value with all its texts, keys too, on one line."""
    if isinstance(value, str):
        return type(value)(inline(value))
    if isinstance(value, dict):
        return type(value)((all_printable(key), all_printable(one)) for key, one in value.items())
    if isinstance(value, list):
        return type(value)(all_printable(one) for one in value)
    return value
