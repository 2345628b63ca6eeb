# SPDX-License-Identifier: Apache-2.0
"""railgauge cluster dump: gathers all nodes, groups equal ones, and shows those that differ from the majority."""

import sys
import tempfile
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.cluster.options import From, Hostfile, Kept, Nodes
from railgauge.cli.findings_output import FailOn, leave_with
from railgauge.cli.machine_options import Json, print_warnings
from railgauge.cli.output import document, print_json
from railgauge.topo.errors import InputError, UnavailableError, UsageError
from railgauge.topo.findings.finding import Level

if TYPE_CHECKING:
    from railgauge.topo.findings.cluster.folder import NodeFile, Unread
    from railgauge.topo.findings.cluster.report import Report

STYLE = {"group": "bold", "odd": "bold yellow", "split": "yellow", "unread": "bold red"}


def dump(
    nodes: Nodes = None,
    hostfile: Hostfile = None,
    source: From = None,
    output: Kept = None,
    capture: Annotated[bool, typer.Option("--capture", help="Gather captures (default).")] = False,
    topo: Annotated[bool, typer.Option("--topo", help="Gather topology files, NODE.xml; with --capture both.")] = False,
    timeout_s: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="Time limit per node.")] = 60.0,
    fanout: Annotated[int, typer.Option("--fanout", metavar="N", min=1, help="Nodes handled at a time.")] = 64,
    as_json: Json = False,
    fail_on: FailOn = Level.FAIL,
) -> None:
    """Gather all nodes, group equal ones, and show which nodes differ from the majority and how.

    Without -w and --hostfile: the nodes of the Slurm allocation.

    --fail-on: a node that differs is WARN, one that could not be read UNKNOWN.
    """
    from railgauge.cli.cluster.gather import Limits
    from railgauge.cli.cluster.gathered_files import gathered_files
    from railgauge.topo.findings.cluster.folder import CAPTURES, TOPOLOGY

    with ExitStack() as stack:
        if source is not None:
            _check_alone(nodes or hostfile or output or capture or topo)
            report = _read(source)
        else:
            endings = [ending for ending, wanted in ((CAPTURES[0], capture or not topo), (TOPOLOGY, topo)) if wanted]
            folder = output or stack.enter_context(tempfile.TemporaryDirectory(prefix="railgauge-cluster-"))
            limits = Limits(timeout_s=timeout_s, fanout=fanout)
            report = _compared(*gathered_files(nodes, hostfile, folder, endings, limits))
    _leave(report, as_json=as_json, fail_on=fail_on, is_live=source is None)


def _check_alone(others: object) -> None:
    if others:
        raise UsageError("--from reads an earlier -o FOLDER: leave -w, --hostfile, -o, --capture and --topo out")


def _read(folder: str) -> "Report":
    from railgauge.topo.findings.cluster.folder import node_files

    return _compared(node_files(folder), [])


def _compared(files: "tuple[NodeFile, ...] | list[NodeFile]", failed: "list[Unread]") -> "Report":
    from railgauge.cli.cluster.progress import progress
    from railgauge.topo.findings.cluster.comparison import compare
    from railgauge.topo.findings.cluster.folder import read_files

    with progress("reading nodes", len(files)) as on_read:
        nodes, unread = read_files(files, on_read)
    return compare(nodes, [*failed, *unread])


def _leave(report: "Report", *, as_json: bool, fail_on: Level, is_live: bool) -> None:
    """Print the report and exit; an error if no node could be read."""
    from railgauge.topo.findings.cluster.findings import findings
    from railgauge.topo.render.fleet_json import report_document

    print_warnings(report.warnings)
    if as_json:
        print_json(document("cluster", "", **report_document(report)))
    else:
        _print(report)
    if not report.groups:
        raise typer.Exit((UnavailableError if is_live else InputError).exit_status)
    leave_with(tuple(findings(report)), fail_on)


def _print(report: "Report") -> None:
    from railgauge.topo.render.fleet_text import report_lines

    if not sys.stdout.isatty():
        print("\n".join(line.head + line.wrapped(None) for line in report_lines(report)))
        return
    from rich.text import Text

    from railgauge.cli.terminal import console

    terminal = console()
    for line in report_lines(report):
        terminal.print(Text.assemble((line.head, STYLE.get(line.mark, "")), line.wrapped(terminal.width)))
