# SPDX-License-Identifier: Apache-2.0
"""The message about a wrong command line: what is wrong, what was probably meant, and where the help is."""

import re
from typing import Any

from railgauge.cli.everywhere import NAMES
from railgauge.cli.streams import tell
from railgauge.topo.values.near import did_you_mean

QUOTED = re.compile(r"'([^']*)' is not one of")
"""The value in typer's message about a choice."""


def explain_misuse(who: str, error: Any) -> int:
    """Print typer's usage error and return its exit status; `who`: the command where the error does not say it."""
    context = error.ctx
    if context is not None and error.format_message() == context.get_help():  # a group without a command
        tell_help(error.format_message())
        return int(error.exit_code)
    who = context.command_path if context else who
    tell(f"{who}: {_message(error)}; try '{who} --help'")
    return int(error.exit_code)


def tell_help(text: str) -> None:
    """Print the help on stderr: it is no answer."""
    import sys

    print(text, file=sys.stderr)


def _separator(command: Any) -> str:
    """What to say where a command's last arguments are words of another one, which may begin with -."""
    last = next((one for one in command.params if one.nargs == -1 and "after --" in (one.help or "")), None)
    return f"; put -- before {last.metavar}" if last else ""


def _message(error: Any) -> str:
    name, message = getattr(error, "option_name", None), error.message
    if name is not None and message.startswith("No such option"):
        known = [one for parameter in error.ctx.command.params for one in (*parameter.opts, *parameter.secondary_opts)]
        near = did_you_mean(name, (*known, *NAMES))
        return f"no such option '{name}'{near or _separator(error.ctx.command)}"
    if commands := getattr(error.ctx and error.ctx.command, "commands", None):
        wrong = re.match(r"No such command '([^']*)'", message)
        return f"no such command '{wrong[1]}'{did_you_mean(wrong[1], commands)}" if wrong else message
    choices = getattr(getattr(getattr(error, "param", None), "type", None), "choices", None)
    found = QUOTED.search(message)
    near = did_you_mean(found[1], [getattr(one, "value", one) for one in choices]) if choices and found else ""
    text = str(error.format_message()).rstrip(".")
    return text[:1].lower() + text[1:] + near
