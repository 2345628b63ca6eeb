# SPDX-License-Identifier: Apache-2.0
"""Makes the man pages from the help of the commands: python -m scripts.man_pages writes them to man/."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from railgauge.cli.help.first_page import ABOUT, first_page
from railgauge.cli.help.man import man_page
from railgauge.cli.help.page import page_of, short, visible
from railgauge.cli.main import COMMANDS

FOLDER = Path(__file__).parent.parent / "man"


def main() -> None:
    """Write the pages, and remove those of commands that are gone."""
    FOLDER.mkdir(exist_ok=True)
    pages = man_pages()
    for path in FOLDER.glob("*.1"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text)


def man_pages() -> dict[str, str]:
    """All pages by file name."""
    made = {"railgauge": man_page("railgauge", ABOUT, first_page(), tuple(f"railgauge-{name}" for name in COMMANDS))}
    for name, (module, _) in COMMANDS.items():
        made |= _below(get_command(importlib.import_module(module).app), ("railgauge", name))
    return {f"{name}.1": text for name, text in made.items()}


def _below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """A command and those of its group."""
    name, commands = "-".join(words), visible(command)
    others = ("-".join(words[:-1]), *(f"{name}-{below}" for below, _ in commands))
    yield name, man_page(name, short(command), page_of(command, " ".join(words)), others)
    for below, one in commands:
        yield from _below(one, (*words, below))


if __name__ == "__main__":
    main()
