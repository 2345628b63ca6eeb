# SPDX-License-Identifier: Apache-2.0
"""A progress bar on stderr, on a terminal only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show how many of `total` are done; call the yielded function with the number of new ones."""
    if not sys.stderr.isatty():
        yield lambda more: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from railgauge.cli.terminal import console

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    shown = Progress(
        *columns, console=console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    )
    with shown as bar:
        task = bar.add_task(what, total=total)
        yield lambda more: bar.advance(task, more)
