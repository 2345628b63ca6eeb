# SPDX-License-Identifier: Apache-2.0
"""railgauge topo paths: the paths between GPUs, NICs, CPUs and NVSwitches."""

from typing import Annotated

import typer

from railgauge.cli.help.command import option
from railgauge.cli.help.page import MACHINE
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
    TopoFile,
    open_machine,
    open_system,
    settings_in_force,
)
from railgauge.cli.output import document, print_json, print_text, terminal_width
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.machine import Machine


def paths(
    a: Annotated[
        str | None,
        typer.Argument(
            metavar="DEVICE", help="GPU0, mlx5_0, NIC2, NUMA0, NVS, a bus id or NCCL's id, e.g. GPU/0-1b000."
        ),
    ] = None,
    b: Annotated[str | None, typer.Argument(metavar="DEVICE", help="The other end, named likewise.")] = None,
    source: From = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    topo_file: TopoFile = None,
    ranks: Ranks = None,
    device: DeviceOption = DeviceChoice.AUTO,
    nodes: Annotated[
        int, option(MACHINE, "--nodes", metavar="N", min=1, help="Has no effect: paths stay within a node.")
    ] = 1,
    merged: MergeNics = False,
    no_p2p: NoP2p = False,
    settings: Set = None,
    ids: IdsOption = Ids.NAMES,
    as_json: Json = False,
) -> None:
    """Show paths as NCCL sees them: all, those from one device, or the one between two, explained hop by hop.

    Examples:
        railgauge topo paths --from @dgx-h100
        railgauge topo paths GPU0 --from @dgx-h100
        railgauge topo paths GPU0 mlx5_0 --from @dgx-h100
    """
    from railgauge.topo.nccl.graph.ends import find_end, text_names
    from railgauge.topo.nccl.graph.peer_status import denied_pairs, nvml_reports_peers
    from railgauge.topo.nccl.paths.explanation import explain
    from railgauge.topo.nccl.paths.paths import paths as all_paths
    from railgauge.topo.nccl.settings.levels import MEANING, read_levels
    from railgauge.topo.render.node_links import node_links, path_faults
    from railgauge.topo.render.paths import describe, entry, explained, listing

    machine = open_machine(source, gpus, merged=merged, topo_file=topo_file, save=save)
    levels = read_levels(settings_in_force(machine, settings, MEANING))
    system = open_system(machine, ranks, device)
    table = all_paths(system, p2p=not no_p2p, levels=levels, denied=denied_pairs(system, machine.reader))
    names = text_names(system) if ids is Ids.NAMES else {}
    if a and b:
        ports = port_numbers(machine)
        explanation = explain(
            system,
            table,
            *(find_end(system, end, ports).id for end in (a, b)),
            asked=nvml_reports_peers(machine.reader),
        )
        links = node_links(system, machine.topology, machine.facts)
        faults = path_faults(links, system, explanation.path)
        if not as_json:
            print_text(describe(explanation, faults, names))
            return
        listed = [explained(explanation, faults)]
    else:
        wanted = find_end(system, a, port_numbers(machine)).id if a else None
        rows = [row for row in table if wanted in (None, row[0])]
        if not rows and a is None:
            raise UnavailableError("no GPU, rank or NIC here: no path starts")
        if not rows:
            raise UsageError(f"{a} starts no path: paths start at GPUs, ranks and NICs; name another device as well")
        listed = [entry(*row) for row in rows]
    if as_json:
        print_json(document("paths", machine.host, paths=listed))
        return
    print_text("\n".join(listing(table, names, terminal_width(), wanted)))


def port_numbers(machine: Machine) -> dict[str, tuple[int, ...]]:
    """The ports of each RDMA device as the kernel numbers them; none for a topology file."""
    devices = machine.facts.rdma if machine.facts else ()
    return {device.name: tuple(port.number for port in device.ports) for device in devices}
