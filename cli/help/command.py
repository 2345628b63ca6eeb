# SPDX-License-Identifier: Apache-2.0
"""Commands and groups of commands that show our help, and the typer apps made of them."""

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class HelpCommand(TyperCommand):
    """A command with our help."""

    def get_help(self, ctx: Any) -> str:
        """Called by typer."""
        return help_of(self, ctx.command_path)


class HelpGroup(TyperGroup):
    """A group of commands with our help."""

    def get_help(self, ctx: Any) -> str:
        """Called by typer."""
        return help_of(self, ctx.command_path)


def help_of(command: Any, name: str) -> str:
    """The help of a command, as text."""
    from railgauge.cli.help.page import page_of
    from railgauge.cli.help.text import page_text

    return page_text(page_of(command, name))


def option(section: str, *names: str, **more: Any) -> Any:
    """An option in a section of the help."""
    return typer.Option(*names, rich_help_panel=section, **more)


def argument(section: str, text: str, **more: Any) -> Any:
    """An argument in a section of the help."""
    return typer.Argument(help=text, show_default=False, rich_help_panel=section, **more)


def app_of(command: Callable[..., Any], kind: type[TyperCommand] = HelpCommand) -> typer.Typer:
    """The app of one command."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(cls=kind, context_settings={"help_option_names": ["-h", "--help"]})(command)
    return app


def group_of(text: str, *commands: Callable[..., Any]) -> typer.Typer:
    """The app of a group of commands, named after their functions; `text`: what it is for."""
    app = typer.Typer(
        cls=HelpGroup,
        help=text,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_group)  # else a single command would take the group's place
    for command in commands:
        app.command(cls=HelpCommand)(command)
    return app


def _group() -> None:
    """Nothing: a group does nothing by itself."""
