# SPDX-License-Identifier: Apache-2.0
"""Commands on recorded machines that README.md and docs/ show print what is shown there.

`...` stands for anything within a line, and on a line of its own for any lines, which may be left out at the end, too;
spaces count as one, and empty lines do not count.
"""

import pathlib
import re
import shlex

import pytest
from tests.cli.command import in_process

ROOT = pathlib.Path(__file__).parents[2]
OTHER_FILES = re.compile(r" -o |\.(txt|xml|zst|json)\b")  # it writes, or reads what is not in the repository


def transcripts():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        shown = re.findall(r"^    \$ railgauge (.*@.*)\n((?:    .*\n|\n(?=    [^$]))*)", page.read_text(), re.MULTILINE)
        for command, lines in shown:
            if not OTHER_FILES.search(command):
                yield pytest.param(command, lines, id=f"{page.stem}: {command}")


def pattern(line):
    """Of a line as it is shown."""
    return r"\s+".join(r".*".join(map(re.escape, word.split("..."))) for word in line.split())


@pytest.mark.parametrize(("command", "lines"), list(transcripts()))
def test_a_command_prints_what_is_shown(command, lines):
    done = in_process(*shlex.split(command, comments=True))
    printed = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    shown = [line.strip() for line in lines.splitlines() if line.strip()]
    any_lines = r"(?:.*\n)*?"
    whole = "".join(any_lines if line == "..." else pattern(line) + r"\n" for line in shown)
    assert re.match(whole, "\n".join(printed) + "\n"), done.stdout + done.stderr


def test_there_are_transcripts():
    assert len(list(transcripts())) >= 12
