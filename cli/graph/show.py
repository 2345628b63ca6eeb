# SPDX-License-Identifier: Apache-2.0
"""railgauge graph show: the channels of a machine or a graph file, and the load of each link."""

import itertools
import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.graph.policy_option import PolicyOption
from railgauge.cli.help.command import option
from railgauge.cli.help.page import ANSWER, MACHINE
from railgauge.cli.machine_options import (
    DeviceChoice,
    DeviceOption,
    From,
    Gpus,
    Ids,
    IdsOption,
    Json,
    MergeNics,
    NoP2p,
    Ranks,
    SaveCapture,
    Set,
    link_names,
    name_of,
    open_machine,
    open_system,
    settings_in_force,
)
from railgauge.cli.machine_options import output as output_option
from railgauge.cli.output import document, print_json, print_text, write_text
from railgauge.topo.channels.graph import Graph, Policy
from railgauge.topo.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railgauge.topo.channels.group import RankGroup
    from railgauge.topo.machine import Machine

SUFFIXES = (".svg", ".dot", ".html")


class GraphPattern(StrEnum):
    """Which graph a picture draws."""

    RING = "ring"
    TREE = "tree"


def show(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="A graph XML of `graph search -o` or NCCL_GRAPH_DUMP_FILE (default: search)."
        ),
    ] = None,
    source: From = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    nodes: Annotated[
        int | None,
        option(MACHINE, "--nodes", metavar="N", min=1, help="The number of nodes (default: 1, or by the file)."),
    ] = None,
    ranks: Ranks = None,
    device: DeviceOption = DeviceChoice.AUTO,
    merged: MergeNics = False,
    no_p2p: NoP2p = False,
    policy: PolicyOption = Policy.BEST,
    settings: Set = None,
    pattern: Annotated[GraphPattern, option(ANSWER, "--draw", help="The graph that -o draws.")] = GraphPattern.RING,
    ids: IdsOption = Ids.NAMES,
    as_json: Json = False,
    output: Annotated[
        str | None,
        output_option("Write a picture in the format of the suffix: .svg, .html or .dot."),
    ] = None,
) -> None:
    """Show channels and the load of each link, as text or drawn into the picture of the machine.

    Examples:
        railgauge graph show --from @dgx-h100 --policy nccl
        railgauge graph show graph.txt -o channels.svg
    """
    from railgauge.topo.channels import graph_file
    from railgauge.topo.channels.group import group_of
    from railgauge.topo.channels.running import with_running
    from railgauge.topo.nccl.graph.peer_status import denied_pairs
    from railgauge.topo.nccl.paths.paths import paths
    from railgauge.topo.nccl.settings.steering import read_steering
    from railgauge.topo.predict.search import search
    from railgauge.topo.render.graph import graph_records, rank_lines

    _check_suffix(output)
    machine = open_machine(source, gpus, merged=merged, save=save, graph=file)
    steering = read_steering(settings_in_force(machine, settings))
    system = open_system(machine, ranks, device)
    denied = denied_pairs(system, machine.reader)
    table = paths(system, p2p=not no_p2p, levels=steering.levels, denied=denied)
    if file is None:
        count = nodes or 1
        graphs = search(system, nodes=count, policy=policy, steering=steering, p2p=not no_p2p, denied=denied)
    else:
        graphs = graph_file.load(file, system, group_of(system, table, 1).ranks)
        count = nodes or (2 if graphs.ring.channels[0].nets else 1)
    group = group_of(system, table, count)
    graphs = with_running(group, graphs)
    if as_json:
        print_json(document("graph", machine.host, graphs=graph_records(graphs)))
        return
    if output is None:
        places, names = rank_lines(system, graphs.ring), link_names(system, ids)
        shown = (_lines(name, graph, group, names) for name, graph in (("ring", graphs.ring), ("tree", graphs.tree)))
        print_text("\n".join(itertools.chain(places, *shown)))
        return
    name = machine.host or name_of(source)
    drawn = graphs.ring if pattern is GraphPattern.RING else graphs.tree
    write_text(output, _picture(output, name, machine, pattern, drawn, group, link_names(system, ids)))


def _lines(name: str, graph: Graph, group: "RankGroup", names: "Mapping[str, str]") -> list[str]:
    from railgauge.topo.channels.load import loads
    from railgauge.topo.render.graph import graph_lines, load_lines

    return [*graph_lines(name, graph, 2 if group.leaves else 1, names), *load_lines(loads(group, graph), names)]


def _check_suffix(output: str | None) -> None:
    if output is not None and os.path.splitext(output)[1].lower() not in SUFFIXES:
        raise UsageError(f"-o {output}: the suffix selects the format; use one of {', '.join(SUFFIXES)}")


def _picture(
    path: str,
    name: str,
    machine: "Machine",
    pattern: GraphPattern,
    graph: Graph,
    group: "RankGroup",
    names: "Mapping[str, str]",
) -> str:
    """The machine with the channels in it, in the format of the suffix."""
    from railgauge.topo.channels.load import loads, users
    from railgauge.topo.render.graph import graph_lines, rank_lines
    from railgauge.topo.render.matrix import matrix
    from railgauge.topo.render.picture import dot, page, svg
    from railgauge.topo.render.picture.from_system import picture
    from railgauge.topo.render.picture.layout import lay_out
    from railgauge.topo.render.picture.loaded import with_loads

    inventory = machine.facts
    remarks = [*rank_lines(group.system, graph), *graph_lines(pattern, graph, 2 if group.leaves else 1, names)]
    drawn = picture(group.system, machine.topology, inventory, name=name)
    drawn = with_loads(drawn, loads(group, graph), users(group, graph), remarks, names)
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".svg":
        return svg.dumps(lay_out(drawn))
    if suffix == ".dot":
        return dot.dumps(drawn)
    return page.dumps(drawn, matrix(group.system, machine.topology, inventory), machine.warnings)
