# SPDX-License-Identifier: Apache-2.0
"""Commands in README.md and docs/: what follows `$ ` prints what is shown below it, and every other line that calls
railgauge is a command line that its parser takes.

The commands of a page run in the order of the page, in one empty folder, so that one may read what another wrote.
`...` stands for anything within a line, and on a line of its own for any lines, which may be left out at the end, too;
spaces count as one, and empty lines do not count. transcripts.toml names those that cannot run, each with the reason.
"""

import functools
import importlib
import itertools
import pathlib
import re
import shlex
import tomllib
from difflib import SequenceMatcher
from typing import NamedTuple

import pytest
import typer.main
from tests.cli.command import in_process, railgauge

from railgauge.cli.main import COMMANDS

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)
STARTS_PROCESSES = ("run", "link")  # which write to its stdout, not to what stands for it
NOT_RUN = tomllib.loads((pathlib.Path(__file__).parent / "transcripts.toml").read_text())["not_run"]
SETTING = re.compile(r"[A-Z][A-Z0-9_]*=")
BRACKETS = str.maketrans("", "", "[]")  # around what may be left out
SHELL = ("|", "&", "&&", ";", ">", "<")  # after which there is another command, or a file
STARTERS = re.compile(r"^(?:mpirun|srun|salloc|torchrun|ssh|kubectl|RANK=|NCCL_\w+=|\w[\w-]*\$ ).*?(?=railgauge )")


class Transcript(NamedTuple):
    command: str
    shown: list[str]


def blocks(page):
    """The code blocks of a page, indented by four or fenced as console, without that indentation."""
    text = page.read_text()
    fenced = re.findall(r"^```(?:console|sh|shell|bash)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE)
    return [
        *fenced,
        *("".join(re.sub("^    ", "", line) for line in one.splitlines(keepends=True)) for one in indented),
    ]


@functools.cache
def transcripts(page):
    """Commands after `$ `, each with the lines below it."""
    found = []
    for block in blocks(page):
        for part in re.split(r"^(?=\$ )", block, flags=re.MULTILINE):
            if part.startswith("$ "):
                command, *shown = re.sub(r"\\\n\s*", "", part[2:]).splitlines()
                found.append(Transcript(command, [line.strip() for line in shown if line.strip()]))
    return found


def mentioned(page):
    """Command lines of railgauge in code blocks, whoever starts them."""
    for block in blocks(page):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            command = STARTERS.sub("", line.removeprefix("$ "))
            if re.match(rf"railgauge (--?\w|(?:{'|'.join(COMMANDS)})(?: |$))", command):
                yield command


def words(command):
    """The settings before a command line, and its words after `railgauge`."""
    given = list(itertools.takewhile(lambda word: word not in SHELL, shlex.split(command, comments=True)))
    settings = [word for word in given if SETTING.match(word)]
    start = next(index for index, word in enumerate(given) if not SETTING.match(word))
    assert given[start] == "railgauge", f"{command}: not a command of railgauge: say so in transcripts.toml"
    return dict(word.split("=", 1) for word in settings[:start]), given[start + 1 :]


def pattern(line):
    """Of a line as it is shown."""
    return r"\s+".join(r".*".join(map(re.escape, word.split("..."))) for word in line.split())


def name(page):
    return str(page.relative_to(ROOT))


def matches(shown, printed):
    whole = "".join(r"(?:.*\n)*?" if line == "..." else pattern(line) + r"\n" for line in shown)
    return re.match(whole, "\n".join(printed) + "\n")


def mismatch(shown, printed):
    """The first line that is shown and not printed there, with the printed line most like it; None where all match."""
    for end in range(1, len(shown) + 1):
        if not matches(shown[:end], printed):
            return shown[end - 1], max(printed, key=lambda line: SequenceMatcher(None, shown[end - 1], line).ratio())
    return None


def replace_line(page, old, new):
    """Write the new line in a page, with the old one's indentation."""
    lines = page.read_text().splitlines(keepends=True)
    page.write_text("".join(line.replace(old, new) if line.strip() == old else line for line in lines))


@pytest.mark.parametrize("page", [page for page in PAGES if transcripts(page)], ids=name)
def test_commands_print_what_is_shown(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    for command, shown in transcripts(page):
        if command in NOT_RUN:
            continue
        settings, arguments = words(command)
        called = railgauge if arguments[0] in STARTS_PROCESSES else in_process
        done = called(*arguments, **settings)
        assert done.returncode in (0, 1), f"{command}\n{done.stderr}"
        printed = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        if request.config.getoption("--update-expected"):
            while (found := mismatch(shown, printed)) and found[1] not in shown:
                replace_line(page, *found)
                shown[shown.index(found[0])] = found[1]
        found = mismatch(shown, printed)
        assert not found, f"{name(page)}: {command}; if that is right: pytest --update-expected, and read the diff"


@pytest.mark.parametrize("page", [page for page in PAGES if any(mentioned(page))], ids=name)
def test_command_lines_are_taken_by_the_parser(page):
    for command in mentioned(page):
        _, (first, *arguments) = words(command.translate(BRACKETS))
        if not first.startswith("-"):
            assert not unknown(first, arguments), command


def unknown(first, arguments):
    """Words of a command line that no command and no option is called."""
    taken = typer.main.get_command(importlib.import_module(COMMANDS[first][0]).app)
    while commands := getattr(taken, "commands", None):
        if not arguments or arguments[0] not in commands:
            return arguments[:1]
        taken, arguments = commands[arguments[0]], arguments[1:]
    known = {option for each in taken.params for option in (*each.opts, *each.secondary_opts)}
    known |= {"--help", "-h", "--debug"}
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    options = [word.split("=")[0] for word in own if re.match(r"--?[A-Za-z]", word)]
    return [one for one in options if one not in known and (one.startswith("--") or one[:2] not in known)]


def test_what_is_not_run_is_shown_somewhere():
    shown = {command for page in PAGES for command, _ in transcripts(page)}
    assert {*NOT_RUN} - shown == set()
    assert all(NOT_RUN.values())
    named = [path for reason in NOT_RUN.values() for path in re.findall(r"tests/[\w/.]+", reason)]
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_most_transcripts_run():
    commands = [command for page in PAGES for command, _ in transcripts(page)]
    assert len([command for command in commands if command not in NOT_RUN]) >= 12


def test_an_unknown_command_or_option_is_seen():
    assert unknown("topo", ["show", "--no-such-option", "--json"]) == ["--no-such-option"]
    assert unknown("topo", ["no-such-command"]) == ["no-such-command"]
