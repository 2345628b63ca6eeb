# SPDX-License-Identifier: Apache-2.0
"""The options of every command, before or after its name: --color and --debug. Imports little: every start does."""

import os
from collections.abc import Sequence

WHEN = ("auto", "always", "never")
ROWS = (
    ("--color WHEN", "auto, always or never; auto: on a terminal, unless NO_COLOR is set, or with FORCE_COLOR."),
    ("--debug", "Show where an error was raised."),
    ("-h, --help", "Show this help and exit."),
)
"""The rows of the help."""
NAMES = ("--color", "--debug", "--help")

color = "auto"
"""What --color says."""
debug = False
"""Whether --debug is given."""


def take(args: Sequence[str]) -> list[str]:
    """Keep these options and return the other words; what follows `--` is another program's.

    Raises:
        UsageError: --color without a word that it knows.
    """
    global color, debug
    color, debug = "auto", False
    rest, words = list[str](), iter(args)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--":
            return [*rest, word, *words]
        if word == "--debug":
            debug = True
        elif name == "--color":
            color = _when(value if equals else next(words, ""))
        else:
            rest.append(word)
    return rest


def _when(text: str) -> str:
    if text not in WHEN:
        from railgauge.topo.errors import UsageError

        raise UsageError(f"--color {text!r}: use one of {', '.join(WHEN)}")
    return text


def given() -> list[str]:
    """These options as they were given, for ranks that this process starts."""
    return [*(["--color", color] if color != "auto" else []), *(["--debug"] if debug else [])]


def is_coloured(*, is_terminal: bool) -> bool:
    """Whether text has colours: as --color says, else NO_COLOR (no-color.org), FORCE_COLOR, a terminal."""
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal and os.environ.get("TERM") != "dumb")
