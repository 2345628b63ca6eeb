# SPDX-License-Identifier: Apache-2.0
"""Quick commands: the same values and refusals as typer's own, and no pydantic where nothing needs a check."""

import subprocess
import sys
from enum import StrEnum
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from railgauge.cli.quick_command import QuickCommand, QuickGroup

LOADED = """
import sys
sys.argv = ["railgauge", {command}, "--from", "@h200x4", "-o", "/dev/null"]
from railgauge.cli.main import main
try:
    main()
finally:
    print("pydantic" in sys.modules)
"""


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def program(group, command):
    app = typer.Typer(cls=group, add_completion=False)

    def show(
        name: Annotated[str | None, typer.Argument()] = None,
        count: Annotated[int, typer.Option(min=1)] = 3,
        colour: Colour = Colour.RED,
        tags: Annotated[list[str] | None, typer.Option("--tag")] = None,
        loud: Annotated[bool, typer.Option("--loud")] = False,
    ) -> None:
        print(repr((name, count, colour, tags, loud)))

    app.command(cls=command)(show)
    app.command("other")(lambda: None)
    return app


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("a", "--count", "7", "--colour", "blue", "--tag", "x", "--tag", "y", "--loud"),
        ("--count", "0"),
        ("--count", "many"),
        ("--colour", "green"),
        ("--nope",),
        ("--help",),
    ],
)
def test_they_answer_as_typers_own(args):
    ours, theirs = (
        CliRunner().invoke(program(group, command), ["show", *args])
        for group, command in ((QuickGroup, QuickCommand), (None, None))
    )
    assert (ours.exit_code, ours.output) == (theirs.exit_code, theirs.output)


@pytest.mark.parametrize("command", ['"topo", "dump"', '"graph", "search"'])
def test_writing_a_file_does_not_load_pydantic(command):
    program = LOADED.replace("{command}", command)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "False\n")
