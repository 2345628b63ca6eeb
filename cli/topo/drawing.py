# SPDX-License-Identifier: Apache-2.0
"""Prints `topo show`: the tree, the matrix, the differences from nvidia-smi's; in colour on a terminal."""

from collections.abc import Mapping
from textwrap import fill

import typer
from rich.text import Text
from rich.tree import Tree

from railgauge.cli.terminal import console
from railgauge.topo.compare.smi_matrix import LARGEST, loads
from railgauge.topo.errors import InputError
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.model import System
from railgauge.topo.render.matrix import NICS, matrix
from railgauge.topo.render.names import nvlinks_text
from railgauge.topo.render.node_links import node_links
from railgauge.topo.render.palette import NODE_INKS, Ink, path_ink
from railgauge.topo.render.smi_difference import differences
from railgauge.topo.render.topology import Branch, TopologyFacts, branches

SENTENCE = 100  # characters of a line of text below a matrix
WIDEST = 10_000  # characters of a line: a matrix cut to the terminal is unreadable


def print_tree(system: System, machine: Machine, names: Mapping[str, str]) -> None:
    """Print one tree per CPU; `names`: of nodes, by NCCL's id."""
    models = {gpu.bus_id: gpu.name for gpu in machine.facts.gpus if gpu.name} if machine.facts else {}
    known = TopologyFacts(links=node_links(system, machine.topology, machine.facts), models=models)
    out = console(WIDEST)
    for branch in branches(system, known, names):
        out.print(_grown(Tree(_text(branch), guide_style=Ink.QUIET), branch))
    if unknown := nvlinks_text(machine.facts):
        out.print(unknown, style=Ink.BAD)


def _grown(tree: Tree, branch: Branch) -> Tree:
    for below in branch.below:
        _grown(tree.add(_text(below)), below)
    return tree


def _text(branch: Branch) -> Text:
    style = Ink.BAD if branch.bad else NODE_INKS.get(branch.kind, Ink.PLAIN)
    return Text(branch.label, style=style, no_wrap=True)


def print_matrix(system: System, machine: Machine) -> None:
    """Print the matrix with its legends."""
    out, drawn = console(WIDEST), matrix(system, machine.topology, machine.facts)
    widths = [max(len(row[i]) for row in drawn.rows) + 2 for i in range(len(drawn.rows[0]))]
    for row in drawn.rows:
        line = Text()
        for cell, width in zip(row, widths, strict=True):
            line.append(cell.ljust(width), style=path_ink(cell))
        line.rstrip()
        out.print(line)
    if drawn.unknown:
        out.print(f"\n{drawn.unknown}", style=Ink.BAD)
    out.print("\n" + drawn.legend)
    for sentence in drawn.counted_otherwise:
        out.print("\n" + fill(sentence, SENTENCE, break_on_hyphens=False))
    if drawn.nics:
        out.print(f"\n{NICS}\n")
        for label, name in drawn.nics:
            out.print(f"  {label}: {name}")


def print_differences(path: str, system: System, machine: Machine) -> None:
    """Print where nvidia-smi's matrix in a file differs, and why; exit with 1 if it does."""
    text = read_bytes(path, LARGEST)
    if len(text) > LARGEST:
        raise InputError(f"larger than {LARGEST >> 20} MiB: expected the output of nvidia-smi topo -m", path)
    theirs = loads(text.decode("utf-8", "replace"), path)
    found = differences(theirs, matrix(system, machine.topology, machine.facts))
    out = console(WIDEST)
    for one in found:
        out.print(f"{', '.join(one.where)}: {one.theirs} in nvidia-smi, {one.ours} here", style=Ink.HEADING)
        out.print(f"  {one.why}")
    if found and not theirs.nics and any(column.startswith("NIC") for column in theirs.columns):
        out.print("(nvidia-smi's output has no NIC legend: its NIC0 is assumed to be NIC0 here, and so on)")
    if found:
        raise typer.Exit(1)
    out.print(f"no difference in {len(theirs.cells)} cells")
