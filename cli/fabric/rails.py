# SPDX-License-Identifier: Apache-2.0
"""railgauge fabric rails: which NIC is on which rail, in the form of NCCL_IB_HCA."""

from typing import TYPE_CHECKING, Annotated

from railgauge.cli.fabric.options import Captures, Files, open_fabric
from railgauge.cli.help.command import option
from railgauge.cli.help.page import MACHINE
from railgauge.cli.machine_options import MACHINE_HELP, Json, open_machine
from railgauge.cli.output import document, print_json, print_lines, write_text
from railgauge.topo.errors import UsageError

if TYPE_CHECKING:
    from railgauge.topo.fabric.model import FabricMap
    from railgauge.topo.fabric.rails import FabricRails


def rails(
    files: Files,
    captures: Captures = None,
    write: Annotated[
        str | None,
        option(MACHINE, "--write", metavar="FILE", help="Write the topology XML of --from with rail= and plane=."),
    ] = None,
    source: Annotated[
        str | None, option(MACHINE, "--from", metavar="MACHINE", help=f"The node for --write: {MACHINE_HELP}.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the rails and planes, which network is for storage, and print NCCL_IB_HCA for NCCL 2.30 and newer.

    Examples:
        railgauge fabric rails ibnetdiscover.txt
        railgauge fabric rails fabric/ --write topo.xml --from live
    """
    from railgauge.topo.fabric.rails import find_rails
    from railgauge.topo.render.fabric_rails import rails_document, rails_lines

    if source is not None and write is None:
        raise UsageError("--from requires --write FILE")
    fabric, _, _ = open_fabric(files, captures)
    found = find_rails(fabric)
    if write is not None:
        _write(write, source, fabric, found)
    if as_json:
        print_json(document("rails", "", **rails_document(fabric, found)))
    else:
        print_lines(rails_lines(fabric, found))


def _write(path: str, source: str | None, fabric: "FabricMap", found: "FabricRails") -> None:
    from railgauge.topo.fabric.captured import captured_ports
    from railgauge.topo.fabric.rail_attributes import with_rails
    from railgauge.topo.xml import topology_file

    if source is None:
        raise UsageError("--write requires --from, the node whose topology file it is")
    node = None if source == "live" else source
    topology, count = with_rails(open_machine(node).topology, fabric, found, captured_ports([node]))
    if not count:
        raise UsageError("--from: no NIC of this node is on a compute rail of the fabric (by GUID or MAC)")
    write_text(path, topology_file.dumps(topology))
