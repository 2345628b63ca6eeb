# SPDX-License-Identifier: Apache-2.0
"""Prints `topo show`: the tree, the matrix, the differences from nvidia-smi's; in colour on a terminal."""

from collections.abc import Iterator, Mapping
from textwrap import fill

import typer

from railgauge.cli.output import print_lines, print_text, terminal_width
from railgauge.topo.errors import InputError
from railgauge.topo.facts.pasted.smi_matrix import LARGEST, loads
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.model import System
from railgauge.topo.render.matrix import NICS, matrix
from railgauge.topo.render.names import nvlinks_text
from railgauge.topo.render.node_links import node_links
from railgauge.topo.render.palette import NODE_INKS, Ink, Line, line, path_ink
from railgauge.topo.render.smi_difference import differences
from railgauge.topo.render.topology import Branch, TopologyFacts, branches
from railgauge.topo.render.wrapping import GAP, fitting_columns, wrapped_text

SENTENCE = 100  # characters of a line of text below a matrix


def print_tree(system: System, machine: Machine, names: Mapping[str, str]) -> None:
    """Print one tree per CPU; `names`: of nodes, by NCCL's id."""
    models = {gpu.bus_id: gpu.name for gpu in machine.facts.gpus if gpu.name} if machine.facts else {}
    known = TopologyFacts(links=node_links(system, machine.topology, machine.facts), models=models)
    for branch in branches(system, known, names):
        print_lines(_grown(branch, "", "", terminal_width()))
    if unknown := nvlinks_text(machine.facts):
        print_lines([line(unknown, Ink.BAD)])


def _grown(branch: Branch, head: str, indent: str, width: int | None) -> Iterator[Line]:
    """The lines of a branch, the first behind `head`, further ones behind `indent`; then the branches below it."""
    ink = Ink.BAD if branch.bad else NODE_INKS.get(branch.kind, Ink.PLAIN)
    room = None if width is None else width - len(indent)
    for part in (part for text in branch.label.split("\n") for part in wrapped_text(text, room)):
        yield ((head, Ink.QUIET), (part, ink))
        head = indent
    for place, below in enumerate(branch.below, 1):
        guide, further = ("└── ", "    ") if place == len(branch.below) else ("├── ", "│   ")
        yield from _grown(below, indent + guide, indent + further, width)


def print_matrix(system: System, machine: Machine) -> None:
    """Print the matrix with its legends; columns that do not fit the terminal are left out."""
    drawn = matrix(system, machine.topology, machine.facts)
    widths = [max(len(row[i]) for row in drawn.rows) for i in range(len(drawn.rows[0]))]
    count = fitting_columns(widths, terminal_width())
    for row in drawn.rows:
        cells = list(zip(row, widths, strict=True))[:count]
        print_lines(
            [
                [
                    (f"{cell:<{width}}{' ' * (place < count - 1) * GAP}", path_ink(cell))
                    for place, (cell, width) in enumerate(cells)
                ]
            ]
        )
    if count < len(widths):
        left_out = ", ".join(filter(None, (name.strip() for name in drawn.rows[0][count:])))
        print_text(f"({left_out} left out: the terminal is too narrow)")
    if drawn.unknown:
        print_lines([line(""), line(drawn.unknown, Ink.BAD)])
    print_text("\n" + drawn.legend)
    for sentence in drawn.counted_otherwise:
        width = min(terminal_width() or SENTENCE, SENTENCE)
        print_text("\n" + fill(sentence, width, break_long_words=False, break_on_hyphens=False))
    if drawn.nics:
        print_text(f"\n{NICS}\n")
        for label, name in drawn.nics:
            print_text(f"  {label}: {name}")


def print_differences(path: str, system: System, machine: Machine) -> None:
    """Print where nvidia-smi's matrix in a file differs, and why; exit with 1 if it does."""
    text = read_bytes(path, LARGEST)
    if len(text) > LARGEST:
        raise InputError(f"larger than {LARGEST >> 20} MiB: expected the output of nvidia-smi topo -m", path)
    theirs = loads(text.decode("utf-8", "replace"), path)
    found = differences(theirs, matrix(system, machine.topology, machine.facts))
    for one in found:
        print_lines([line(f"{', '.join(one.where)}: {one.theirs} in nvidia-smi, {one.ours} here", Ink.HEADING)])
        print_text(f"  {one.why}")
    if found and not theirs.nics and any(column.startswith("NIC") for column in theirs.columns):
        print_text("(nvidia-smi's output has no NIC legend: its NIC0 is assumed to be NIC0 here, and so on)")
    if found:
        raise typer.Exit(1)
    print_text(f"no difference in {len(theirs.cells)} cells")
