# SPDX-License-Identifier: Apache-2.0
"""A progress bar on stderr, on a terminal only, with the names of what is waited for."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from railgauge.topo.values.node_names import folded

FEW = 32
"""So many names at most are folded for the line: folding thousands takes longer than a node."""
WIDEST = 40
"""Characters of the names; only a few, whole ones, are shown where they take more."""


@contextmanager
def progress(what: str, names: Sequence[str]) -> Iterator[Callable[[Iterable[str]], None]]:
    """Show how many of the names are done and which are not; call the yielded function with the names of new ones."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from railgauge.cli.terminal import console

    columns = (TextColumn("{task.description}", markup=False), BarColumn(20), MofNCompleteColumn())
    shown = Progress(
        *columns, console=console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    )
    left = dict.fromkeys(names)
    with shown as bar:
        task = bar.add_task(described(what, list(left)), total=len(names))

        def on_done(done: Iterable[str]) -> None:
            done = list(done)
            for name in done:
                left.pop(name, None)
            bar.update(task, advance=len(done), description=described(what, list(left)))

        yield on_done


def described(what: str, left: Sequence[str]) -> str:
    """What is done, and the names that are waited for: all if they are short, else the first and how many more."""
    if not left:
        return what
    names = folded(left[:FEW])
    if len(left) > FEW or len(names) > WIDEST:
        names = left[0] + (f" and {len(left) - 1} more" if left[1:] else "")
    return f"{what}: {names}"
