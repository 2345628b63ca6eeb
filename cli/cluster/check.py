# SPDX-License-Identifier: Apache-2.0
"""railgauge cluster check: finds the problems of each node, and those between nodes."""

import tempfile
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from railgauge.cli.cluster.options import Collector, From, Hostfile, Nodes, Reports
from railgauge.cli.expect_option import Expect
from railgauge.cli.fabric.options import FabricFiles
from railgauge.cli.findings_output import (
    FailOn,
    Only,
    Quiet,
    Skip,
    Verbose,
    detail_of,
    leave_if_failed,
    leave_with,
)
from railgauge.cli.findings_status import FOUND
from railgauge.cli.machine_options import Json, print_warnings
from railgauge.cli.output import document, print_json, print_lines, terminal_width
from railgauge.topo.errors import InputError, UnavailableError, UsageError
from railgauge.topo.findings.finding import Finding, Level

if TYPE_CHECKING:
    from railgauge.cli.cluster.gather import GatherLimits
    from railgauge.topo.expect.expectations import Expectations
    from railgauge.topo.findings.cluster.examination import Examined
    from railgauge.topo.findings.cluster.folder import NodeFile, Unread
    from railgauge.topo.findings.cluster.reach import ClusterReach
    from railgauge.topo.findings.cluster.report import Report
    from railgauge.topo.findings.cluster.rules.reachability import Reached
    from railgauge.topo.render.cluster_check import ClusterAnswer


def check(
    nodes: Nodes = None,
    hostfile: Hostfile = None,
    source: From = None,
    outputs: Reports = None,
    collector: Collector = False,
    timeout_s: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="End the work on a node after this time.")
    ] = 60.0,
    fanout: Annotated[int, typer.Option("--fanout", metavar="N", min=1, help="Handle N nodes at a time.")] = 64,
    only: Only = None,
    skip: Skip = None,
    table: Annotated[
        bool, typer.Option("--table", help="Print a line for each node: verdict and worst cause.")
    ] = False,
    drain: Annotated[
        bool, typer.Option("--drain", help="Print only NODES REASON lines of bad nodes, for scontrol update.")
    ] = False,
    expect: Expect = None,
    fabric: FabricFiles = None,
    as_json: Json = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Find the problems of each node, the nodes that differ from the majority, and mismatches between nodes.

    Without -w and --hostfile: as srun or mpirun started it, each process captures its node and rank 0 answers;
    else the nodes of the Slurm allocation, over ssh. Each node is captured and checked; over ssh, each then connects to
    all others over the interfaces that NCCL would use.

    Exit status 1 also if a node could not be read.

    Examples:
        railgauge cluster check -w gpu[001-064]
        railgauge cluster check --from captures/
        railgauge cluster check --from captures/ --fabric ibnetdiscover.txt
    """
    from railgauge.cli.cluster.check_file import folder_and_files, write_reports
    from railgauge.cli.cluster.gather import GatherLimits
    from railgauge.topo.expect.expectations import given
    from railgauge.topo.findings.cards.comparison import NODES_DIFFER
    from railgauge.topo.findings.cluster.folding import folded_findings, with_others
    from railgauge.topo.findings.detectors import selected
    from railgauge.topo.findings.node.rules import RULES
    from railgauge.topo.render.cluster_check import (
        ClusterAnswer,
        cluster_check_document,
        cluster_check_lines,
        table_lines,
    )
    from railgauge.topo.render.reach import matrix_lines, matrix_record

    detail = detail_of(verbose=verbose, quiet=quiet)
    if table + drain + as_json > 1:
        raise UsageError("--table, --drain and --json are different answers: give one")
    folder, reports = folder_and_files(outputs or [])
    expected = given(expect or ())
    print_warnings(expected.warnings)
    known = [*(rule.id for rule in RULES), NODES_DIFFER.id]
    if fabric:
        from railgauge.topo.findings.fabric.rules import RULES as OF_FABRIC

        known += [rule.id for rule in OF_FABRIC]
    wanted = set(selected(known, only or (), skip or ()))
    limits = GatherLimits(timeout_s=timeout_s, fanout=fanout)
    with ExitStack() as stack:
        kept = folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="railgauge-cluster-"))
        gathered = _gathered(nodes, hostfile, source, folder, kept, limits, wanted, collector=collector)
        if gathered is None:
            return  # rank 0 answers
        report, examined = _examined(gathered.files, gathered.failed, expected, frozenset(wanted))
        reach, reached = _reached(examined, dict(gathered.files), gathered.asked, wanted, timeout_s)
        between = _of_fabric(fabric, gathered.files) if fabric else ()
    everything = with_others(folded_findings(examined, report, reached), between)
    found = tuple(one for one in everything if one.finding.id in wanted)
    answer = ClusterAnswer(found, report, examined)
    matrix = {"reach": matrix_record(reach)} if reach else {}
    content = document("findings", "", **cluster_check_document(answer), **matrix)
    write_reports(reports, answer, content)
    if as_json:
        print_json(content)
    elif drain:
        _print_drain(answer, fail_on)
    elif table:
        print_lines(table_lines(answer, terminal_width()))
    elif not reports:
        print_lines(cluster_check_lines(answer, list(matrix_lines(reach)) if reach else [], detail))
    leave_if_failed([one.finding for one in everything if one.finding.id in {*wanted, NODES_DIFFER.id}])
    if not report.groups:
        raise typer.Exit((UnavailableError if source is None else InputError).exit_status)
    leave_with(tuple(one.finding for one in found), fail_on)
    if report.unread:
        raise typer.Exit(FOUND)


class _Gathered(NamedTuple):
    """The nodes' files, the nodes without one, and the ssh destinations of those that can test whom they reach."""

    files: "list[NodeFile]"
    failed: "list[Unread]"
    asked: dict[str, str]


def _gathered(
    nodes: str | None,
    hostfile: str | None,
    source: str | None,
    given: str | None,
    folder: str,
    limits: "GatherLimits",
    wanted: set[str],
    *,
    collector: bool,
) -> _Gathered | None:
    """The files of all nodes, kept in a folder (`given` if the user named it); None on a rank that has sent its own."""
    from railgauge.topo.findings.cluster.folder import CAPTURES, node_files

    if source is not None:
        if nodes or hostfile or given or collector:
            raise UsageError(
                "--from reads an earlier -o FOLDER: leave -w, --hostfile, -o FOLDER and --ssh-collector out"
            )
        return _Gathered(list(node_files(source)), [], {})
    if nodes is None and hostfile is None:
        from railgauge.cli.cluster.job import files_of_job, place_in_job

        if place := place_in_job():
            if collector:
                raise UsageError("--ssh-collector uses ssh: name the nodes with -w, outside of srun and mpirun")
            found = files_of_job(place, folder, limits.timeout_s)
            return _Gathered(*found, {}) if found else None
    from railgauge.cli.cluster.collector import by_collector
    from railgauge.cli.cluster.gather import by_railgauge
    from railgauge.cli.cluster.gathered_files import gathered_files
    from railgauge.cli.cluster.nodes import destinations
    from railgauge.topo.findings.cluster.rules.reachability import TRIED

    can_try = not collector and wanted & {rule.id for rule in TRIED}
    asked = destinations(nodes, hostfile) if can_try else {}
    command = by_collector() if collector else by_railgauge(CAPTURES[0])
    files, failed = gathered_files(nodes, hostfile, folder, [command], limits)
    return _Gathered(files, failed, asked)


def _examined(
    files: "list[NodeFile]", failed: "list[Unread]", expected: "Expectations", only: frozenset[str]
) -> "tuple[Report, list[Examined]]":
    from railgauge.cli.cluster.progress import progress
    from railgauge.topo.findings.cluster.comparison import compare
    from railgauge.topo.findings.cluster.examination import examine_node
    from railgauge.topo.findings.cluster.folder import read_files

    with progress("examining nodes", [name for name, _ in files]) as on_read:
        nodes, unread = read_files(files, on_read, partial(examine_node, expected=expected, only=only))
    report = compare(nodes, [*failed, *unread])
    print_warnings(report.warnings)
    return report, [node.seen for node in nodes]


def _of_fabric(paths: list[str], files: "list[NodeFile]") -> "list[Finding]":
    """The findings of the fabric that the nodes are on."""
    from railgauge.cli.fabric.options import joined_fabric
    from railgauge.topo.findings.fabric.examined import ExaminedFabric
    from railgauge.topo.findings.fabric.rules import findings

    found, captured = joined_fabric(paths, [path for _, path in files])
    return findings(ExaminedFabric(fabric=found, captured=captured))


def _reached(
    nodes: "list[Examined]", paths: dict[str, str], asked: dict[str, str], wanted: set[str], timeout_s: float
) -> "tuple[ClusterReach | None, Reached]":
    """Have the nodes test whom they reach; with captures alone nothing is known."""
    from railgauge.topo.findings.cluster.rules.reachability import judge, not_tried

    if len(nodes) < 2 or not asked:
        return None, not_tried([node.name for node in nodes], wanted)
    from railgauge.cli.cluster.progress import progress
    from railgauge.cli.cluster.reach import try_reach
    from railgauge.topo.findings.cluster.planned import crossings, planned

    plan = planned(nodes, paths)
    endpoints = {node.name: node.individual.endpoints for node in nodes}
    with progress("testing reachability", [node.name for node in nodes]) as on_done:
        reach = try_reach(asked, endpoints, crossings(nodes, plan), timeout_s, on_done)
    return reach, judge(reach, plan)


def _print_drain(answer: "ClusterAnswer", fail_on: Level) -> None:
    """The nodes to drain; those that were not read are named on stderr."""
    from railgauge.topo.findings.cluster.report import unread_by_reason
    from railgauge.topo.render.cluster_check import drain_lines

    for text in drain_lines(answer, fail_on):
        print(text)
    unread = unread_by_reason(answer.report.unread)
    print_warnings(tuple(f"{names}: not read, so not listed: {reason}" for names, reason in unread))
