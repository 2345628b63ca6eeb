# SPDX-License-Identifier: Apache-2.0
"""railgauge cluster dump: gathers all nodes, groups equal ones, and shows those that differ from the majority."""

import tempfile
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.cluster.options import Collector, From, Hostfile, Kept, Nodes
from railgauge.cli.findings_output import FailOn, leave_with
from railgauge.cli.machine_options import Json, print_warnings
from railgauge.cli.output import document, print_json, print_lines, terminal_width
from railgauge.topo.errors import InputError, UnavailableError, UsageError
from railgauge.topo.findings.finding import Level

if TYPE_CHECKING:
    from railgauge.topo.findings.cluster.folder import NodeFile, Unread
    from railgauge.topo.findings.cluster.report import Report


def dump(
    nodes: Nodes = None,
    hostfile: Hostfile = None,
    source: From = None,
    output: Kept = None,
    capture: Annotated[bool, typer.Option("--capture", help="Gather captures (default).")] = False,
    topo: Annotated[bool, typer.Option("--topo", help="Gather topology files, NODE.xml; with --capture both.")] = False,
    collector: Collector = False,
    timeout_s: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="End the work on a node after this time.")
    ] = 60.0,
    fanout: Annotated[int, typer.Option("--fanout", metavar="N", min=1, help="Handle N nodes at a time.")] = 64,
    as_json: Json = False,
    fail_on: FailOn = Level.FAIL,
) -> None:
    """Gather all nodes, group equal ones, and show which nodes differ from the majority and how.

    Only inventory is compared, so equal nodes may all have the same fault: cluster check looks for faults.

    Without -w and --hostfile: the nodes of the Slurm allocation.

    --fail-on: a node that differs is WARN, one that could not be read UNKNOWN.

    Examples:
        railgauge cluster dump -w gpu[001-064] -o captures/
        railgauge cluster dump --from captures/
    """
    from railgauge.cli.cluster.collector import by_collector
    from railgauge.cli.cluster.gather import GatherLimits, by_railgauge
    from railgauge.cli.cluster.gathered_files import gathered_files
    from railgauge.topo.findings.cluster.folder import CAPTURES, TOPOLOGY

    with ExitStack() as stack:
        if source is not None:
            _check_alone(nodes or hostfile or output or capture or topo or collector)
            report = _read(source)
        else:
            if collector and topo:
                raise UsageError("--ssh-collector gathers captures: leave --topo out")
            endings = [ending for ending, wanted in ((CAPTURES[0], capture or not topo), (TOPOLOGY, topo)) if wanted]
            commands = [by_collector()] if collector else [by_railgauge(ending) for ending in endings]
            folder = output or stack.enter_context(tempfile.TemporaryDirectory(prefix="railgauge-cluster-"))
            limits = GatherLimits(timeout_s=timeout_s, fanout=fanout)
            report = _compared(*gathered_files(nodes, hostfile, folder, commands, limits))
    _leave(report, as_json=as_json, fail_on=fail_on, is_live=source is None)


def _check_alone(others: object) -> None:
    if others:
        raise UsageError(
            "--from reads an earlier -o FOLDER: leave -w, --hostfile, -o, --capture, --topo and --ssh-collector out"
        )


def _read(folder: str) -> "Report":
    from railgauge.topo.findings.cluster.folder import node_files

    return _compared(node_files(folder), [])


def _compared(files: "tuple[NodeFile, ...] | list[NodeFile]", failed: "list[Unread]") -> "Report":
    from railgauge.cli.cluster.progress import progress
    from railgauge.topo.findings.cluster.comparison import compare
    from railgauge.topo.findings.cluster.folder import read_files

    with progress("reading nodes", [name for name, _ in files]) as on_read:
        nodes, unread = read_files(files, on_read)
    return compare(nodes, [*failed, *unread])


def _leave(report: "Report", *, as_json: bool, fail_on: Level, is_live: bool) -> None:
    """Print the report and exit; an error if no node could be read."""
    from railgauge.topo.findings.cluster.findings import findings
    from railgauge.topo.render.cluster import INVENTORY, cluster_document, report_lines
    from railgauge.topo.render.palette import line

    print_warnings(report.warnings)
    if as_json:
        print_json(document("cluster", "", **cluster_document(report)))
    else:
        print_lines((*report_lines(report, terminal_width()), line(INVENTORY)))
    if not report.groups:
        raise typer.Exit((UnavailableError if is_live else InputError).exit_status)
    leave_with(tuple(findings(report)), fail_on)
