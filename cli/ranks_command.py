# SPDX-License-Identifier: Apache-2.0
"""Commands that start ranks: they pass their options on to the ranks, and group them by section in the help."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from railgauge.cli.machine_options import check_capture_name
from railgauge.cli.ranks_start import ranks_arguments


def option(section: str, *names: str, **more: Any) -> Any:
    """An option in a section of the help."""
    return typer.Option(*names, rich_help_panel=section, **more)


def argument(section: str, text: str, **more: Any) -> Any:
    """An argument in a section of the help."""
    return typer.Argument(help=text, show_default=False, rich_help_panel=section, **more)


SaveCapture = Annotated[
    str | None,
    option(
        "Answer",
        "--save-capture",
        metavar="FILE",
        callback=check_capture_name,
        help="Save what the first rank of each node reads of it; --from FILE of other commands replays it.",
    ),
]


class RanksCommand(TyperCommand):
    """The command; its context's `obj` is the command line for the ranks."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Called by typer."""
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        ctx.obj = ranks_arguments(self.params, given)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Called by typer: options grouped by `rich_help_panel`, in order of first appearance."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or "Other", []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
