# SPDX-License-Identifier: Apache-2.0
"""railgauge topo paths: how the ends reach each other."""

from typing import Annotated

import typer

from railgauge.cli.machine_options import (
    Device,
    DeviceOption,
    From,
    Gpus,
    Json,
    MergeNics,
    NoP2p,
    Ranks,
    open_machine,
    open_system,
)
from railgauge.cli.output import document, print_json
from railgauge.topo.errors import UsageError


def paths(
    a: Annotated[str | None, typer.Argument(help="GPU0, NIC2, mlx5_0, a bus id or an id such as GPU/0-1b000.")] = None,
    b: Annotated[str | None, typer.Argument(help="The same for the other end.")] = None,
    source: From = None,
    gpus: Gpus = None,
    ranks: Ranks = None,
    device: DeviceOption = Device.AUTO,
    nodes: Annotated[int, typer.Option("--nodes", min=1, help="Accepted for symmetry: paths are within a node.")] = 1,
    merged: MergeNics = False,
    no_p2p: NoP2p = False,
    as_json: Json = False,
) -> None:
    """Show how the ends reach each other: type, hops and bandwidth, as NCCL sees it."""
    from railgauge.topo.ends import find_end
    from railgauge.topo.paths import paths as all_paths
    from railgauge.topo.render.path_text import describe

    if a and not b:
        raise UsageError("give both ends, or none for all pairs")
    machine = open_machine(source, gpus, merged=merged)
    system = open_system(machine, ranks, device)
    table = all_paths(system, p2p=not no_p2p)
    rows = list(table)
    if a and b:
        ends = find_end(system, a).id, find_end(system, b).id
        rows = [(*ends, table.get(*ends))]
    if as_json:
        listed = [
            {"from": x, "to": y, "type": p.type, "hops": p.hops, "gb_per_s": p.gb_per_s, "via": list(p.via)}
            for x, y, p in rows
        ]
        print_json(document("paths", machine.host, paths=listed))
    elif a and b:
        print(describe(system, *rows[0]))
    else:
        for x, y, p in rows:
            print(f"{x:<20} {y:<24} {p.type:<4} {p.hops:>2} hops {p.gb_per_s:>8g} GB/s")
