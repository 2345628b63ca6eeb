# SPDX-License-Identifier: Apache-2.0
"""What the help of a command says, whatever shows it."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from railgauge.cli.everywhere import ROWS

ARGUMENTS, OPTIONS, COMMANDS, EVERYWHERE = "Arguments", "Options", "Commands", "Options of every command"
MACHINE, ANSWER = LAST = ("Machine", "Answer")
"""Sections that many commands share; they follow a command's own."""
NO_BREAK = "\u00a0"
"""Between words that stand on one line."""
Row = tuple[str, str]
"""An option, argument or command, and a sentence about it."""


class HelpPage(NamedTuple):
    """The help of a command: how it is called, what it does, its options by section, and examples."""

    usage: str
    paragraphs: tuple[str, ...]
    sections: tuple[tuple[str, tuple[Row, ...]], ...]
    examples: tuple[str, ...] = ()
    ending: str = ""


def page_of(command: Any, name: str) -> HelpPage:
    """The page of a click command; `name`: as it is called, e.g. `railgauge topo show`."""
    paragraphs, examples = _parted(command.help or "")
    sections: dict[str, list[Row]] = {}
    for parameter in command.params:
        if not parameter.hidden and parameter.name != "help":
            sections.setdefault(section_of(parameter), []).append(_row(parameter))
    if commands := visible(command):
        sections[COMMANDS] = [(one, short(below)) for one, below in commands]
    shown = sorted(sections.items(), key=lambda section: LAST.index(section[0]) if section[0] in LAST else -1)
    return HelpPage(
        usage=" ".join([name, *_usage(command)]),
        paragraphs=paragraphs,
        sections=(*((title, tuple(rows)) for title, rows in shown), (EVERYWHERE, ROWS)),
        examples=examples,
    )


def visible(command: Any) -> list[tuple[str, Any]]:
    """The commands of a group that its help shows, by name."""
    return [(name, one) for name, one in getattr(command, "commands", {}).items() if not one.hidden]


def short(command: Any) -> str:
    """A command in one sentence."""
    return " ".join(_parted(command.help or "")[0][0].split())


def _parted(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paragraphs of a docstring, and the lines of its examples."""
    paragraphs, examples = list[str](), list[str]()
    for paragraph in text.strip().split("\n\n"):
        title, _, rest = paragraph.partition("\n")
        if title == "Examples:":
            examples += [line.strip() for line in rest.splitlines()]
        else:
            paragraphs.append(" ".join(paragraph.split()))
    return tuple(paragraphs), tuple(examples)


def section_of(parameter: Any) -> str:
    """The section that shows an option or argument."""
    return parameter.rich_help_panel or (ARGUMENTS if parameter.param_type_name == "argument" else OPTIONS)


def _usage(command: Any) -> Iterator[str]:
    if hasattr(command, "commands"):
        yield "COMMAND"
    if any(parameter.param_type_name == "option" for parameter in command.params) or not command.params:
        yield "[OPTIONS]"
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name = metavar(parameter) + ("..." if parameter.nargs == -1 else "")
            yield name if parameter.required else f"[{name}]"


def _row(parameter: Any) -> Row:
    names = ", ".join(sorted(parameter.opts, key=len)) if parameter.param_type_name == "option" else ""
    if parameter.secondary_opts:
        names += f", {', '.join(parameter.secondary_opts)}"
    value = "" if getattr(parameter, "is_flag", False) else metavar(parameter)
    return f"{names} {value}".strip(), " ".join([parameter.help, *_remarks(parameter)])


def metavar(parameter: Any) -> str:
    """What stands for the value of an option or argument."""
    choices = getattr(parameter.type, "choices", None)
    return str(parameter.metavar or ("|".join(map(_text, choices)) if choices else parameter.name.upper()))


def _remarks(parameter: Any) -> Iterable[str]:
    """What is so without the option."""
    shown, value = parameter.show_default, parameter.default
    if isinstance(shown, str):
        yield f"(default:{NO_BREAK}{shown})"
    elif parameter.secondary_opts:
        yield f"(default:{NO_BREAK}{(parameter.opts if value else parameter.secondary_opts)[0]})"
    elif shown and value is not None and value is not False and value != "":
        yield f"(default:{NO_BREAK}{_text(value)})"
    if parameter.envvar:
        yield f"(environment: {parameter.envvar})"
    if parameter.required and parameter.param_type_name == "option":
        yield "(required)"


def _text(value: Any) -> str:
    """A default value or a choice."""
    return f"{value:g}" if isinstance(value, float) else str(getattr(value, "value", value))
