# SPDX-License-Identifier: Apache-2.0
"""What `topo show` prints: the tree and the matrix, in colour on a terminal (rich honours NO_COLOR)."""

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from railgauge.topo.model import NodeKind, System
from railgauge.topo.render.matrix import LEGEND, NICS, matrix
from railgauge.topo.render.tree import Branch, branches

KIND_STYLE = {NodeKind.GPU: "green", NodeKind.HOST: "green", NodeKind.NET: "cyan", NodeKind.CPU: "bold"}
CELL_STYLE = {"SYS": "red", "PHB": "yellow", "PXB": "cyan", "PIX": "cyan", "X": "dim"}


def console() -> Console:
    """Standard output; never wrapped, since a matrix that wraps cannot be read."""
    return Console(highlight=False, soft_wrap=True)


def print_tree(system: System) -> None:
    """One tree a CPU."""
    out = console()
    for branch in branches(system):
        out.print(_grown(Tree(_text(branch), guide_style="dim"), branch))


def _grown(tree: Tree, branch: Branch) -> Tree:
    for below in branch.below:
        _grown(tree.add(_text(below)), below)
    return tree


def _text(branch: Branch) -> Text:
    return Text(branch.label, style=KIND_STYLE.get(branch.kind, ""), overflow="fold", no_wrap=True)


def print_matrix(system: System) -> None:
    """The matrix with its legends."""
    out, drawn = console(), matrix(system)
    widths = [max(len(row[i]) for row in drawn.rows) + 2 for i in range(len(drawn.rows[0]))]
    for row in drawn.rows:
        line = Text()
        for cell, width in zip(row, widths, strict=True):
            line.append(cell.ljust(width), style=CELL_STYLE.get(cell, "green" if cell.startswith("NV") else ""))
        line.rstrip()
        out.print(line)
    out.print("\n" + LEGEND)
    if drawn.nics:
        out.print(f"\n{NICS}\n")
        for label, name in drawn.nics:
            out.print(f"  {label}: {name}")
