# SPDX-License-Identifier: Apache-2.0
"""railgauge machines: the fixtures that --from @NAME reads, with a line about each."""

import os
import tomllib
from textwrap import fill

from railgauge.cli.help.command import app_of
from railgauge.cli.output import terminal_width

COLUMNS = 100


def machines() -> None:
    """List the machines that come with railgauge and that --from @NAME reads in place of this one.

    Examples:
        railgauge machines
        railgauge check --from @dgx-h100-nic-x8
    """
    about = about_fixtures()
    width = max(map(len, about)) + 1
    for name, text in about.items():
        print(
            fill(
                text,
                min(terminal_width() or COLUMNS, COLUMNS),
                initial_indent=f"{f'@{name}':{width}}  ",
                subsequent_indent=" " * (width + 2),
                break_long_words=False,
                break_on_hyphens=False,
            )
        )


def about_fixtures() -> dict[str, str]:
    """What each fixture is, by name: `about` of its description; of a recorded one, what its README.md begins with."""
    from railgauge.topo.facts.named_source import fixtures

    return {name: _about(path) for name, path in fixtures().items()}


def _about(path: str) -> str:
    if path.endswith(".toml"):
        with open(path, "rb") as file:
            return str(tomllib.load(file)["about"])
    with open(os.path.join(os.path.dirname(path), "README.md"), encoding="utf-8") as file:
        return next(line.strip() for line in file if line.strip() and not line.startswith("#"))


app = app_of(machines)
