# SPDX-License-Identifier: Apache-2.0
"""railgauge cluster check: finds the problems of each node, and those between nodes."""

import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.cluster.options import From, Hostfile, Kept, Nodes
from railgauge.cli.findings_output import FailOn, leave_if_failed, leave_with
from railgauge.cli.machine_options import Json, print_warnings
from railgauge.cli.output import document, print_json, print_lines
from railgauge.topo.errors import InputError, UnavailableError, UsageError
from railgauge.topo.findings.finding import Level

if TYPE_CHECKING:
    from railgauge.topo.findings.cluster.examination import Examined
    from railgauge.topo.findings.cluster.folder import NodeFile, Unread
    from railgauge.topo.findings.cluster.folding import Folded
    from railgauge.topo.findings.cluster.reach import ClusterReach
    from railgauge.topo.findings.cluster.report import Report
    from railgauge.topo.findings.cluster.rules.reachability import Reached


def check(
    nodes: Nodes = None,
    hostfile: Hostfile = None,
    source: From = None,
    output: Kept = None,
    timeout_s: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="End the work on a node after this time.")
    ] = 60.0,
    fanout: Annotated[int, typer.Option("--fanout", metavar="N", min=1, help="Handle N nodes at a time.")] = 64,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help="Check this finding only; repeatable.")
    ] = None,
    skip: Annotated[
        list[str] | None, typer.Option("--skip", metavar="ID", help="Do not check this finding; repeatable.")
    ] = None,
    as_json: Json = False,
    fail_on: FailOn = Level.WARN,
) -> None:
    """Find the problems of each node, the nodes that differ from the majority, and mismatches between nodes.

    Without -w and --hostfile: the nodes of the Slurm allocation. Each node is captured and checked here; then each
    connects to all others over the interfaces that NCCL would use.

    Examples:
        railgauge cluster check -w gpu[001-064]
        railgauge cluster check --from captures/
    """
    from railgauge.cli.cluster.gather import GatherLimits
    from railgauge.cli.cluster.gathered_files import gathered_files
    from railgauge.cli.cluster.nodes import destinations
    from railgauge.topo.findings.cards.comparison import NODES_DIFFER
    from railgauge.topo.findings.cluster.folder import CAPTURES, node_files
    from railgauge.topo.findings.cluster.folding import folded_findings
    from railgauge.topo.findings.cluster.rules.reachability import TRIED
    from railgauge.topo.findings.node.rules import RULES, selected
    from railgauge.topo.render.findings import record
    from railgauge.topo.render.reach import matrix_lines, matrix_record

    wanted = set(selected([*(rule.id for rule in RULES), NODES_DIFFER.id], only or (), skip or ()))
    limits = GatherLimits(timeout_s=timeout_s, fanout=fanout)
    asked: dict[str, str] = {}
    failed: list[Unread] = []
    with ExitStack() as stack:
        if source is not None:
            if nodes or hostfile or output:
                raise UsageError("--from reads an earlier -o FOLDER: leave -w, --hostfile and -o out")
            files = list(node_files(source))
        else:
            folder = output or stack.enter_context(tempfile.TemporaryDirectory(prefix="railgauge-cluster-"))
            asked = destinations(nodes, hostfile) if wanted & {rule.id for rule in TRIED} else {}
            files, failed = gathered_files(nodes, hostfile, folder, [CAPTURES[0]], limits)
        report, examined = _examined(files, failed)
        reach, reached = _reached(examined, dict(files), asked, timeout_s)
    everything = folded_findings(examined, report, reached)
    found = tuple(one for one in everything if one.finding.id in wanted)
    count = sum(len(group.nodes) for group in report.groups)
    if as_json:
        matrix = {"reach": matrix_record(reach)} if reach else {}
        print_json(document("findings", "", findings=[record(one.finding) for one in found], **matrix))
    else:
        _print(found, count, len(report.unread), matrix_lines(reach) if reach else ())
    leave_if_failed([one.finding for one in everything if one.finding.id in {*wanted, NODES_DIFFER.id}])
    if not report.groups:
        raise typer.Exit((UnavailableError if source is None else InputError).exit_status)
    leave_with(tuple(one.finding for one in found), fail_on)


def _examined(files: "list[NodeFile]", failed: "list[Unread]") -> "tuple[Report, list[Examined]]":
    from railgauge.cli.cluster.progress import progress
    from railgauge.topo.findings.cluster.comparison import compare
    from railgauge.topo.findings.cluster.examination import examine_node
    from railgauge.topo.findings.cluster.folder import read_files

    with progress("examining nodes", len(files)) as on_read:
        nodes, unread = read_files(files, on_read, examine_node)
    report = compare(nodes, [*failed, *unread])
    print_warnings(report.warnings)
    return report, [node.seen for node in nodes]


def _reached(
    nodes: "list[Examined]", paths: dict[str, str], asked: dict[str, str], timeout_s: float
) -> "tuple[ClusterReach | None, Reached]":
    """Have the nodes test whom they reach; with captures alone nothing is known."""
    from railgauge.topo.findings.cluster.rules.reachability import judge, not_tried

    if len(nodes) < 2 or not asked:
        return None, not_tried([node.name for node in nodes])
    from railgauge.cli.cluster.progress import progress
    from railgauge.cli.cluster.reach import try_reach
    from railgauge.topo.findings.cluster.planned import crossings, planned

    plan = planned(nodes, paths)
    endpoints = {node.name: node.individual.endpoints for node in nodes}
    with progress("testing reachability", len(nodes)) as on_done:
        reach = try_reach(asked, endpoints, crossings(nodes, plan), timeout_s, on_done)
    return reach, judge(reach, plan)


def _print(found: "tuple[Folded, ...]", nodes: int, unread: int, matrix: Iterable[str]) -> None:
    from railgauge.topo.render.findings import cluster_lines, summary

    print(f"{nodes} node{'' if nodes == 1 else 's'} read{f', {unread} not' if unread else ''}")
    for line in matrix:
        print(line)
    print_lines(cluster_lines(found, nodes + unread))
    print(summary([one.finding for one in found]))
