# SPDX-License-Identifier: Apache-2.0
"""railgauge topo show: the machine as a tree, a matrix, its RDMA devices, or a picture in a file."""

from enum import StrEnum
from typing import Annotated

from railgauge.cli.help.command import option
from railgauge.cli.help.page import ANSWER
from railgauge.cli.machine_options import (
    DeviceChoice,
    DeviceOption,
    From,
    Gpus,
    Ids,
    IdsOption,
    Json,
    Ranks,
    SaveCapture,
    TopoFile,
    open_machine,
    open_system,
)
from railgauge.cli.machine_options import output as output_option
from railgauge.cli.output import print_json
from railgauge.topo.errors import UsageError


class View(StrEnum):
    """How `topo show` draws."""

    TREE = "tree"
    MATRIX = "matrix"
    RDMA = "rdma"


ViewOption = Annotated[
    View,
    option(
        ANSWER,
        "--view",
        help="matrix is that of nvidia-smi topo -m; rdma shows ports and GIDs of RDMA devices.",
    ),
]
Against = Annotated[
    str | None,
    option(
        ANSWER,
        "--against",
        metavar="FILE",
        help="Show where and why the matrix differs from this output of nvidia-smi topo -m; with --view matrix.",
    ),
]
Output = Annotated[
    str | None, output_option("Write a picture in the format of the suffix: .svg, .dot, .html; or the data: .json.")
]


def show(
    source: From = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    topo_file: TopoFile = None,
    view: ViewOption = View.TREE,
    against: Against = None,
    output: Output = None,
    ranks: Ranks = None,
    device: DeviceOption = DeviceChoice.AUTO,
    ids: IdsOption = Ids.NAMES,
    as_json: Json = False,
) -> None:
    """Draw the machine as a tree, a matrix or a picture.

    Examples:
        railgauge topo show --from @dgx-h100
        railgauge topo show --view matrix --from @dgx-h100
        railgauge topo show -o node.svg
    """
    from railgauge.cli.topo.drawing import print_differences, print_matrix, print_tree
    from railgauge.cli.topo.picture_file import check_suffix, topology_document, write_picture
    from railgauge.cli.topo.rdma_view import print_rdma, settings_of_devices
    from railgauge.topo.nccl.graph.ends import text_names

    _check(view, against, output, topo_file, as_json=as_json)
    if output is not None:
        check_suffix(output)
    if view is View.RDMA:
        print_rdma(open_machine(source, gpus, environment=settings_of_devices(), save=save), as_json=as_json)
        return
    machine = open_machine(source, gpus, topo_file=topo_file, save=save)
    system = open_system(machine, ranks, device)
    if output is not None:
        write_picture(output, source, machine, system)
    elif as_json:
        print_json(topology_document(machine, system))
    elif against:
        print_differences(against, system, machine)
    elif view is View.MATRIX:
        print_matrix(system, machine)
    else:
        print_tree(system, machine, text_names(system) if ids is Ids.NAMES else {})


def _check(view: View, against: str | None, output: str | None, topo_file: str | None, *, as_json: bool) -> None:
    """UsageError for options that contradict each other."""
    if against and view is not View.MATRIX:
        raise UsageError("--against compares the matrix: add --view matrix")
    if output is not None and (view is not View.TREE or as_json):
        raise UsageError("-o draws the whole machine in the format of its suffix: leave --view and --json out")
    if topo_file and view is View.RDMA:
        raise UsageError("--topo-file has no effect on RDMA devices: leave it out")
    if as_json and view is View.MATRIX:
        raise UsageError("--json has no matrix: leave --view out for nodes and links, or use topo paths --json")
