# SPDX-License-Identifier: Apache-2.0
"""railgauge topo dump: the machine as NCCL's topology XML."""

from typing import Annotated

from railgauge.cli.machine_options import From, Gpus, MergeNics, SaveCapture, TopoFile, open_machine
from railgauge.cli.machine_options import output as output_option
from railgauge.cli.output import write_text


def dump(
    source: From = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    topo_file: TopoFile = None,
    merged: MergeNics = False,
    output: Annotated[str | None, output_option("Write to FILE instead of stdout.")] = None,
) -> None:
    """Write the machine as NCCL's topology XML, as NCCL_TOPO_DUMP_FILE would.

    Examples:
        railgauge topo dump -o topo.xml
        railgauge topo dump --from @dgx-h100
    """
    from railgauge.topo.xml import topology_file

    text = topology_file.dumps(open_machine(source, gpus, merged=merged, topo_file=topo_file, save=save).topology)
    if output is not None:
        write_text(output, text)
    else:
        print(text, end="")
