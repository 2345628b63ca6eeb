# SPDX-License-Identifier: Apache-2.0
"""railgauge fabric load: what each cable carries of a job's rings, trees and messages in pairs."""

from typing import Annotated

from railgauge.cli.fabric.options import (
    FABRIC,
    Captures,
    Files,
    Hostfile,
    Hosts,
    adaptive_routing,
    chosen_nodes,
    open_fabric,
)
from railgauge.cli.help.command import option
from railgauge.cli.help.page import ANSWER
from railgauge.cli.machine_options import Json
from railgauge.cli.output import document, print_json, print_lines
from railgauge.topo.errors import UsageError
from railgauge.topo.fabric.pair_traffic import PairPattern

JOB = "Job"


def load(
    files: Files,
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    captures: Captures = None,
    graph: Annotated[
        str | None,
        option(JOB, "--graph", metavar="FILE", help="Channels of this graph XML (default: one for each NIC)."),
    ] = None,
    pairs: Annotated[
        list[PairPattern] | None,
        option(JOB, "--pairs", help="Load this operation too: all to all, or each rank to the next; repeatable."),
    ] = None,
    size: Annotated[
        str,
        option(JOB, "-b", "--bytes", metavar="SIZE", help="Bytes of the all-reduce, or sent by each rank in pairs."),
    ] = "1G",
    gpus: Annotated[int, option(JOB, "-g", "--gpus", metavar="N", min=1, help="Ranks of a node.")] = 8,
    adaptive: Annotated[
        bool, option(FABRIC, "--adaptive", help="Spread traffic over all shortest paths (default without dump_fts).")
    ] = False,
    most: Annotated[int, option(ANSWER, "--top", metavar="N", min=1, help="Show the N most loaded cables.")] = 8,
    as_json: Json = False,
) -> None:
    """Load the cables with the rings and trees of NCCL over nodes in the order of -w, and with messages in pairs.

    Examples:
        railgauge fabric load ibnetdiscover.txt dump_fts.txt -w gpu[001-064]
        railgauge fabric load fabric/ --graph graph.txt --adaptive
        railgauge fabric load fabric/ --pairs alltoall
    """
    from railgauge.collectives.sizes import parse_size
    from railgauge.topo.fabric.graph_channels import graph_channels
    from railgauge.topo.fabric.pair_traffic import pair_load, usual_sent
    from railgauge.topo.fabric.rails import find_rails
    from railgauge.topo.fabric.routing import Routing
    from railgauge.topo.fabric.traffic import ChannelPattern, job_nics, load_of, messages, usual_channels
    from railgauge.topo.render.fabric_load import load_document, load_lines

    count = parse_size(size)
    fabric, _, _ = open_fabric(files, captures)
    rails = find_rails(fabric)
    nodes = chosen_nodes(fabric, rails, hosts, hostfile)
    job = job_nics(fabric, rails, nodes)
    channels = graph_channels(graph) if graph else dict.fromkeys(ChannelPattern, usual_channels(job))
    highest = max(number for each in channels.values() for nics in each for number in nics)
    if highest >= job.per_node:
        raise UsageError(f"--graph: NIC {highest} is used, and the nodes have {job.per_node} on compute rails")
    routing, spread = Routing(fabric), adaptive_routing(fabric, asked=adaptive)
    found = [
        load_of(routing, messages(job, range(len(nodes)), channels[one], one, gpus), one, adaptive=spread)
        for one in ChannelPattern
    ]
    found += [
        pair_load(routing, job, usual_sent(job, one, gpus), one, adaptive=spread) for one in dict.fromkeys(pairs or ())
    ]
    if as_json:
        print_json(document("load", "", **load_document(found, nodes, count, most)))
    else:
        print_lines(load_lines(found, count, most))
