# SPDX-License-Identifier: Apache-2.0
"""Completes a command line: which command, option or value stands at its end, and what it may be."""

import importlib
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from railgauge.cli import everywhere
from railgauge.cli.completion.values import Candidate, values
from railgauge.cli.help.page import metavar, short, visible
from railgauge.cli.main import COMMANDS
from railgauge.topo.errors import UsageError

PROGRAM = "railgauge"
SPACES = " \t\n\"'"


def complete_line(line: str, breaks: str = "") -> list[Candidate]:
    """The candidates for the end of a line, each with a sentence or "".

    `breaks`: characters at which the shell has split the last word; it has what precedes them already.
    """
    words = _words(line)
    last = words[-1]
    have = 1 + max((last.rfind(one) for one in breaks if one not in SPACES), default=-1)
    return [(value[have:], text) for value, text in complete(words)]


def _words(line: str) -> list[str]:
    """The words after the program's name; the last one is being typed, and may be empty."""
    for closing in ("", '"', "'"):
        try:
            words = shlex.split(line + closing)
            break
        except ValueError:
            continue
    else:
        words = line.split()
    start = next((place for place, word in enumerate(words) if os.path.basename(word) == PROGRAM), 0)
    ended = line[-1:].isspace() and not line[-2:].startswith("\\")
    return [*words[start + 1 :], *([""] if ended or len(words) <= start + 1 else [])]


def complete(words: Sequence[str]) -> list[Candidate]:
    """The candidates for the last of the words."""
    *before, last = words
    if before[-1:] == ["--color"]:
        return _matching(((one, "") for one in everywhere.WHEN), last)
    try:
        before = everywhere.take(before)
    except UsageError:
        return []
    if not before:
        names = [(name, text) for name, (_, text) in COMMANDS.items()]
        return _matching([*names, ("--version", "")] if last.startswith("-") else names, last) + _global(last)
    if before[0] not in COMMANDS:
        return []
    from typer.main import get_command

    command: Any = get_command(importlib.import_module(COMMANDS[before[0]][0]).app)
    return _below(command, before[1:], last)


def _below(command: Any, before: Sequence[str], last: str) -> list[Candidate]:
    below = dict(visible(command))
    if not below:
        return _of_command(command, before, last)
    if not before:
        return _matching([(name, short(one)) for name, one in below.items()], last) + _global(last)
    return _below(below[before[0]], before[1:], last) if before[0] in below else []


@dataclass
class _Typed:
    """What stands before the last word: options with values, how many arguments, the option that has none yet."""

    options: dict[str, str] = field(default_factory=dict)
    arguments: int = 0
    waiting: Any = None
    is_over: bool = False


def _of_command(command: Any, before: Sequence[str], last: str) -> list[Candidate]:
    """An option, its value, or an argument of a command."""
    known = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts) if name.startswith("-")}
    typed = _typed(known, before)
    if typed.is_over:
        return []  # the command line of another program
    if typed.waiting is not None:
        return _value(typed.waiting, last, typed)
    name, equals, rest = last.partition("=")
    if equals and name in known:
        return [(f"{name}={value}", text) for value, text in _value(known[name], rest, typed)]
    if last.startswith("-"):
        free = [one for one in command.params if not one.hidden and (one.multiple or one.name not in typed.options)]
        named = [(max(one.opts, key=len), one.help or "") for one in free if one.param_type_name == "option"]
        return _matching(named, last) + _global(last)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    if typed.arguments < len(arguments):
        return _value(arguments[typed.arguments], last, typed)
    return _value(arguments[-1], last, typed) if arguments and arguments[-1].nargs == -1 else []


def _typed(known: dict[str, Any], before: Sequence[str]) -> _Typed:
    typed = _Typed()
    for word in before:
        name, equals, value = word.partition("=")
        if typed.waiting is not None:
            typed.options[typed.waiting.name], typed.waiting = word, None
        elif word == "--":
            typed.is_over = True
        elif name in known:
            typed.options[known[name].name] = value
            if not equals and not known[name].is_flag:
                typed.waiting = known[name]
        elif not word.startswith("-"):
            typed.arguments += 1
    return typed


def _value(parameter: Any, last: str, typed: _Typed) -> list[Candidate]:
    return values(metavar(parameter), last, typed.options.get("source"))


def _global(last: str) -> list[Candidate]:
    rows = zip(everywhere.NAMES, (text for _, text in everywhere.ROWS), strict=True)
    return _matching(rows, last) if last.startswith("-") else []


def _matching(candidates: Iterable[Candidate], last: str) -> list[Candidate]:
    return [one for one in candidates if one[0].startswith(last)]
