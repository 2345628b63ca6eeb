# SPDX-License-Identifier: Apache-2.0
"""railgauge fabric order: the order of nodes in which rings cross the fewest switches."""

from typing import Annotated

from railgauge.cli.fabric.options import (
    FABRIC,
    NAMES_FROM,
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
from railgauge.topo.errors import InputError
from railgauge.topo.render.fabric_order import OrderForm


def order(
    files: Files,
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    captures: Captures = None,
    adaptive: Annotated[
        bool, option(FABRIC, "--adaptive", help="Spread traffic over all shortest paths (default without dump_fts).")
    ] = False,
    form: Annotated[
        OrderForm | None, option(ANSWER, "-o", "--output", help="Print a file for the launcher instead.")
    ] = None,
    slots: Annotated[int, option(ANSWER, "--slots", metavar="N", min=1, help="Ranks of a node, in that file.")] = 8,
    as_json: Json = False,
) -> None:
    """Order nodes so that rings cross the fewest switches and no cable carries more than it must.

    NCCL joins nodes in the order of the ranks, so this order decides what crosses the spines.

    Examples:
        railgauge fabric order ibnetdiscover.txt dump_fts.txt -w gpu[001-064]
        railgauge fabric order fabric/ -o hostfile > hosts
    """
    from railgauge.topo.fabric.order import order_nodes
    from railgauge.topo.fabric.places import find_places
    from railgauge.topo.fabric.rails import find_rails
    from railgauge.topo.fabric.routing import Routing
    from railgauge.topo.fabric.traffic import job_nics, usual_channels
    from railgauge.topo.render.fabric_order import order_document, order_file, order_lines
    from railgauge.topo.values.node_names import NAME

    fabric, _, _ = open_fabric(files, captures)
    rails = find_rails(fabric)
    job = job_nics(fabric, rails, chosen_nodes(fabric, rails, hosts, hostfile))
    found = order_nodes(
        job,
        find_places(fabric, rails),
        Routing(fabric),
        usual_channels(job),
        adaptive=adaptive_routing(fabric, asked=adaptive),
    )
    if as_json:
        print_json(document("order", "", **order_document(found)))
    elif form is not None:
        bad = next((name for name in found.nodes if not NAME.fullmatch(name)), None)
        if bad is not None:
            raise InputError(f"{bad!r} is no host name that a launcher reads: {NAMES_FROM}")
        print(order_file(found.nodes, form, slots), end="")
    else:
        print_lines(order_lines(found))
