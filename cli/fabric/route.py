# SPDX-License-Identifier: Apache-2.0
"""railgauge fabric route: the way from one port to another, cable by cable."""

from typing import Annotated

import typer

from railgauge.cli.fabric.options import FABRIC, Captures, open_fabric
from railgauge.cli.help.command import option
from railgauge.cli.machine_options import Json
from railgauge.cli.output import document, print_json, print_lines

PORT = "NODE/DEVICE, port GUID, MAC or LID:N"


def route(
    source: Annotated[str, typer.Argument(metavar="A", help=f"The port that sends: {PORT}.", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="B", help="The port that receives, likewise.", show_default=False)],
    files: Annotated[
        list[str],
        option(FABRIC, "--fabric", metavar="FILE", help="The fabric with its dump_fts: files or folders; repeatable."),
    ],
    captures: Captures = None,
    as_json: Json = False,
) -> None:
    """Follow the forwarding tables from A to B.

    Examples:
        railgauge fabric route gpu000/mlx5_0 gpu017/mlx5_0 --fabric ibnetdiscover.txt --fabric dump_fts.txt
    """
    from railgauge.topo.fabric.route import named_endpoint
    from railgauge.topo.fabric.route import route as hops_of
    from railgauge.topo.render.fabric_route import route_document, route_lines

    fabric, _, _ = open_fabric(files, captures)
    ends = (named_endpoint(fabric, source), named_endpoint(fabric, target))
    hops = list(hops_of(fabric, *ends))
    if as_json:
        print_json(document("route", "", **route_document(fabric, ends, hops)))
    else:
        print_lines(route_lines(fabric, ends, hops))
