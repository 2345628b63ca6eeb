# SPDX-License-Identifier: Apache-2.0
"""railgauge machines: the fixtures that --from @NAME reads, with a line about each."""

import os
import tomllib

from railgauge.cli.help.command import app_of
from railgauge.cli.output import print_text, terminal_width

COLUMNS = 100
"""The width where there is no terminal."""


def machines() -> None:
    """List the machines that come with railgauge and that --from @NAME reads in place of this one.

    Examples:
        railgauge machines
        railgauge check --from @dgx-h100-nic-x8
    """
    from railgauge.topo.render.wrapping import wrapped_text

    about = about_fixtures()
    width = max(map(len, about)) + 3
    for name, text in about.items():
        entry = f"{f'@{name}':{width}}{text}"
        print_text("\n".join(wrapped_text(entry, terminal_width() or COLUMNS, width)))


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
