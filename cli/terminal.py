# SPDX-License-Identifier: Apache-2.0
"""Standard output as a terminal, in colour where everywhere.py says so."""

import sys
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.segment import Segment

from railgauge.cli.everywhere import is_coloured
from railgauge.topo.values.printable import printable


def console(width: int | None = None, *, stderr: bool = False) -> Console:
    """A console that never wraps, reads no markup, and removes control characters.

    Without colour there is no bold and no dim either.
    """
    colours = is_coloured(is_terminal=(sys.stderr if stderr else sys.stdout).isatty())
    made = Console(
        highlight=False,
        soft_wrap=True,
        width=width,
        color_system="standard" if colours else None,
        force_terminal=colours,
        no_color=not colours,
        markup=False,
        emoji=False,
        stderr=stderr,
    )
    made.push_render_hook(_PrintableHook())
    return made


class _PrintableHook(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Printable(one) for one in renderables]


class _Printable:
    """A renderable with printable text only; Rich's own control codes stay."""

    def __init__(self, shown: RenderableType) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for text, style, control in console.render(self._shown, options):
            yield Segment(text if control else printable(text), style, control)
