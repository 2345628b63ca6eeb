# SPDX-License-Identifier: Apache-2.0
"""railgauge fabric make: writes the files of a fabric that does not exist."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.help.command import option
from railgauge.cli.machine_options import MACHINE_HELP
from railgauge.cli.output import check_folders
from railgauge.cli.streams import tell
from railgauge.topo.errors import UnavailableError
from railgauge.topo.files.output_file import write_file

if TYPE_CHECKING:
    from railgauge.topo.fabric.breakage import Broken
    from railgauge.topo.fabric.made_captures import NodeModel
    from railgauge.topo.fabric.make import FabricPlan

SHAPE, CONTENT = "Shape", "Files"
NETWORK, ROUTES, ERRORS, CAPTURES = "ibnetdiscover.txt", "dump_fts.txt", "ibqueryerrors.txt", "captures"
MOST_ROUTES = 4_000_000
"""Entries of forwarding tables that are written, 60 bytes each."""


def make(
    output: Annotated[str, typer.Option("-o", "--output", metavar="FOLDER", help="Write the files to this folder.")],
    nodes: Annotated[int, option(SHAPE, "--nodes", metavar="N", help="The number of nodes.")] = 32,
    rails: Annotated[int, option(SHAPE, "--rails", metavar="N", help="NICs of a node, each on its own leaves.")] = 4,
    leaves: Annotated[int, option(SHAPE, "--leaves", metavar="N", help="Leaf switches of all rails.")] = 8,
    spines: Annotated[int, option(SHAPE, "--spines", metavar="N", help="Spine switches in all.")] = 4,
    separate: Annotated[bool, option(SHAPE, "--separate", help="Each rail has its own spines and cores.")] = False,
    pods: Annotated[
        int, option(SHAPE, "--pods", metavar="N", help="Groups of leaves and spines that only cores join.")
    ] = 1,
    cores: Annotated[int, option(SHAPE, "--cores", metavar="N", help="Switches of a third tier in all.")] = 0,
    oversubscription: Annotated[
        float, option(SHAPE, "--oversubscription", metavar="X", help="Bandwidth of a leaf down / bandwidth up.")
    ] = 1.0,
    storage: Annotated[
        int, option(SHAPE, "--storage", metavar="N", help="Leaves of a storage network with its servers.")
    ] = 0,
    speed: Annotated[str, option(SHAPE, "--speed", metavar="NAME", help="EDR, HDR, NDR, XDR: of 4 lanes.")] = "NDR",
    faults: Annotated[
        list[str] | None,
        option(
            SHAPE,
            "--break",
            metavar="KIND:WHAT",
            help="A fault: cable:END, swap:END,END, slow:END, errors:END, guid:END,END, manager, routes:END, "
            "hca:NODE=VALUE; END is leaf-r0-0[17] or gpu003/mlx5_1; repeatable.",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        option(CONTENT, "--machine", metavar="MACHINE", help=f"Write captures of nodes like this one: {MACHINE_HELP}."),
    ] = None,
) -> None:
    """Make a fabric: what ibnetdiscover, dump_fts and ibqueryerrors would print of it, and captures of its nodes.

    ibsim reads the first, so that OpenSM and infiniband-diags run on it.

    Examples:
        railgauge fabric make --leaves 8 --spines 4 --rails 4 --nodes 32 -o lab
        railgauge fabric make --leaves 16 --spines 8 --cores 4 --pods 2 --nodes 64 -o lab
        railgauge fabric make --break swap:gpu003/mlx5_1,gpu017/mlx5_1 --machine @dgx-h100 -o lab
    """
    from railgauge.topo.fabric.breakage import broken
    from railgauge.topo.fabric.made_captures import node_model
    from railgauge.topo.fabric.made_files import dump_fts_text, ibnetdiscover_text, ibqueryerrors_text
    from railgauge.topo.fabric.make import FabricPlan, make_fabric
    from railgauge.topo.machine import snapshot

    check_folders([output])
    source = None if machine == "live" else machine
    model = node_model(snapshot(source, {}), rails, storage > 0) if machine is not None else None
    plan = FabricPlan(
        leaves=leaves,
        spines=spines,
        rails=rails,
        nodes=nodes,
        separate=separate,
        oversubscription=oversubscription,
        storage=storage,
        speed=speed,
        devices=model.devices if model else (),
        pods=pods,
        cores=cores,
    )
    made = broken(make_fabric(plan), faults or ())
    fabric = made.fabric
    _folder(output)
    _write(output, NETWORK, ibnetdiscover_text(fabric, made.twins))
    _write(output, ERRORS, ibqueryerrors_text(fabric))
    entries = len(fabric.switches) * len(fabric.endpoints)
    if fabric.routes is not None and entries <= MOST_ROUTES:
        _write(output, ROUTES, dump_fts_text(fabric))
    elif fabric.routes is not None:
        tell(f"railgauge: {ROUTES} left out: {entries} entries; OpenSM makes routes of {NETWORK} under ibsim")
    if model:
        _captures(os.path.join(output, CAPTURES), made, model, plan)
    tell(f"railgauge: made {len(fabric.switches)} switches and {len(fabric.endpoints)} ports of nodes in {output}")


def _captures(folder: str, made: "Broken", model: "NodeModel", plan: "FabricPlan") -> None:
    from railgauge.topo.fabric.made_captures import node_capture
    from railgauge.topo.facts.capture import dumps

    _folder(folder)
    usual = f"={','.join(model.devices[: plan.rails])}"
    for number, node in enumerate(plan.node_names):
        capture = node_capture(model, node, number, made.fabric, made.hca.get(node, usual))
        write_file(os.path.join(folder, f"{node}.tar.zst"), dumps(capture, ".tar.zst"))


def _folder(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise UnavailableError(f"cannot make the folder {path}: {error.strerror or error}") from error


def _write(folder: str, name: str, text: str) -> None:
    write_file(os.path.join(folder, name), text.encode())
