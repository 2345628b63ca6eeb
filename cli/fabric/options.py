# SPDX-License-Identifier: Apache-2.0
"""Options of the commands that read a fabric, and the fabric that they name."""

from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.help.command import argument, option
from railgauge.cli.machine_options import print_warnings
from railgauge.topo.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railgauge.topo.fabric.captured import CapturedPort
    from railgauge.topo.fabric.model import FabricEndpoint, FabricMap
    from railgauge.topo.fabric.rails import FabricRails

FABRIC = "Fabric"
FILES_HELP = (
    "What describes the fabric: output of ibnetdiscover, iblinkinfo, dump_fts, ibqueryerrors, lldpctl and others, "
    "or a folder of them."
)
MOST_SHOWN = 5
NAMES_FROM = "give --captures, or let rdma-ndd set the node descriptions"

Files = Annotated[list[str], argument("Arguments", FILES_HELP, metavar="FILE...")]
FabricFiles = Annotated[
    list[str] | None, option(FABRIC, "--fabric", metavar="FILE", help=f"{FILES_HELP[:-1]}; repeatable.")
]
Captures = Annotated[
    str | None,
    option(FABRIC, "--captures", metavar="FOLDER", help="Captures of the nodes (cluster dump -o): names and settings."),
]
Hosts = Annotated[str | None, typer.Option("-w", "--nodes", metavar="NODES", help="These nodes only: gpu[001-064].")]
Hostfile = Annotated[
    str | None, typer.Option("--hostfile", metavar="FILE", help="The nodes of a hostfile, in its order.")
]


def open_fabric(
    files: "Sequence[str]", captures: str | None
) -> "tuple[FabricMap, dict[FabricEndpoint, CapturedPort], int]":
    """The fabric, the captured port of each endpoint that is one, and how many captures there are.

    Raises:
        UsageError: no file. InputError: see read_fabric.
    """
    from railgauge.topo.findings.cluster.folder import node_files

    paths = [path for _, path in node_files(captures)] if captures is not None else []
    return *joined_fabric(files, paths), len(paths)


def joined_fabric(
    files: "Sequence[str]", captures: "Sequence[str]"
) -> "tuple[FabricMap, dict[FabricEndpoint, CapturedPort]]":
    """The fabric with the names of captures, and the captured port of each endpoint that is one; see open_fabric."""
    from railgauge.topo.fabric.read import read_fabric

    if not files:
        raise UsageError("no file of a fabric is given: collect one with ibnetdiscover > ib.txt")
    fabric = read_fabric(files)
    print_warnings(fabric.warnings[:MOST_SHOWN])
    if not captures:
        return fabric, {}
    from railgauge.topo.fabric.captured import captured_ports, joined

    ports = captured_ports(captures)
    named, found = joined(fabric, ports)
    unknown = len({port.node for port in ports}) - len({port.node for port in found.values()})
    if unknown:
        print_warnings((f"{unknown} of {len(captures)} captured nodes have no port in this fabric (by GUID or MAC)",))
    return named, found


def adaptive_routing(fabric: "FabricMap", *, asked: bool) -> bool:
    """Whether traffic spreads over all shortest paths: as asked, and where no routes are known, which is said."""
    if fabric.routes is None and not asked:
        print_warnings(("no dump_fts: traffic is taken to spread over all shortest paths",))
    return asked or fabric.routes is None


def chosen_nodes(fabric: "FabricMap", rails: "FabricRails", names: str | None, hostfile: str | None) -> list[str]:
    """The nodes of -w or --hostfile in their order, else all on compute rails. UsageError for an unknown one."""
    from railgauge.cli.cluster.nodes import hosts
    from railgauge.topo.values.near import did_you_mean

    on_rails = {one.node for rail in rails.compute for leaf in rail.leaves for one in fabric.on_leaf[leaf]}
    there = [node for node in fabric.nodes if node in on_rails]
    if not there:
        what = "on a compute rail (fabric rails shows which there are)" if fabric.leaf_of else "cabled to a switch"
        raise InputError(f"no node is {what} in these files")
    given = [host.address for host in hosts(names, hostfile)] if names or hostfile else there
    unknown = next((name for name in given if name not in on_rails), None)
    if unknown is not None:
        raise UsageError(f"-w: {unknown} is not on a compute rail of this fabric{did_you_mean(unknown, there)}")
    return given
