# SPDX-License-Identifier: Apache-2.0
"""railgauge graph: search, show."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from railgauge.cli.machine_options import (
    HELP_OPTIONS,
    Device,
    DeviceOption,
    From,
    Gpus,
    Json,
    MergeNics,
    Nodes,
    NoP2p,
    Ranks,
    TopoFile,
    open_machine,
    open_system,
)
from railgauge.cli.output import document, json_text, print_json, write_text
from railgauge.cli.quick_command import QuickCommand, QuickGroup
from railgauge.topo.channels import Graph, Graphs
from railgauge.topo.errors import UnavailableError

app = typer.Typer(
    cls=QuickGroup,
    help="Find the ring and tree channels of a machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)


TREE_OF_SEARCH = "tree: on the ring's channels (trees are not searched yet)"


class Policy(StrEnum):
    """Whose channels a search answers with."""

    BEST = "best"
    NCCL = "nccl"


@app.command(cls=QuickCommand)
def search(
    source: From = None,
    gpus: Gpus = None,
    topo_file: TopoFile = None,
    nodes: Nodes = 1,
    ranks: Ranks = None,
    device: DeviceOption = Device.AUTO,
    merged: MergeNics = False,
    no_p2p: NoP2p = False,
    policy: Annotated[
        Policy, typer.Option("--policy", help="best: the most bandwidth found; nccl: what NCCL would choose (not yet).")
    ] = Policy.BEST,
    as_json: Json = False,
    output: Annotated[
        str | None, typer.Option("-o", metavar="FILE", help="Write NCCL's graph XML there, or JSON for *.json.")
    ] = None,
) -> None:
    """Search the channels that collectives should use, and write them as NCCL_GRAPH_FILE wants them."""
    from railgauge.topo import graph_xml
    from railgauge.topo.channels import search as search_graphs
    from railgauge.topo.peer_status import denied_pairs

    if policy is Policy.NCCL:
        raise UnavailableError("--policy nccl is not there yet: this version searches its own rings only")
    machine = open_machine(source, gpus, merged=merged, topo_file=topo_file)
    system = open_system(machine, ranks, device)
    graphs = search_graphs(system, nodes=nodes, p2p=not no_p2p, denied=denied_pairs(system, machine.reader))
    answer = document("graph", machine.host, graphs=as_record(graphs))
    if output is not None:
        text = json_text(answer) + "\n" if output.endswith(".json") else graph_xml.dumps(graphs, system)
        write_text(output, text)
    if as_json:
        print_json(answer)
    elif output is None:
        print("\n".join([*_lines("ring", graphs.ring, nodes), TREE_OF_SEARCH]))


@app.command(cls=QuickCommand)
def show(
    file: Annotated[str, typer.Argument(help="A graph XML, as `graph search -o` or NCCL_GRAPH_DUMP_FILE writes it.")],
    source: From = None,
    gpus: Gpus = None,
    ranks: Ranks = None,
    device: DeviceOption = Device.AUTO,
    merged: MergeNics = False,
    as_json: Json = False,
) -> None:
    """Show the channels of a graph file, checked against the machine it is for."""
    from railgauge.topo import graph_xml

    machine = open_machine(source, gpus, merged=merged)
    graphs = graph_xml.load(file, open_system(machine, ranks, device))
    if as_json:
        print_json(document("graph", machine.host, graphs=as_record(graphs)))
    else:
        nodes = 2 if graphs.ring.channels[0].nets else 1
        print("\n".join([*_lines("ring", graphs.ring, nodes), *_lines("tree", graphs.tree, nodes)]))


def as_record(graphs: Graphs) -> dict[str, Any]:
    """The `graphs` of a railgauge/graph/1 document."""
    return {"ring": _record(graphs.ring), "tree": _record(graphs.tree)}


def _record(graph: Graph) -> dict[str, Any]:
    return {
        "pattern": graph.pattern,
        "cross_nic": graph.cross_nic,
        "same_channels": graph.same_channels,
        "type_intra": graph.type_intra,
        "type_inter": graph.type_inter,
        "latency_inter": graph.latency_inter,
        "gb_per_s_intra": graph.gb_per_s_intra,
        "gb_per_s_inter": graph.gb_per_s_inter,
        "search_ms": graph.search_ms,
        "bound_gb_per_s": None,  # null: not computed
        "bound_why": None,
        "bound_weights": None,
        "channels": [{"ranks": list(channel.ranks), "nets": list(channel.nets)} for channel in graph.channels],
    }


def _lines(name: str, graph: Graph, nodes: int) -> list[str]:
    """The total, then each different channel with how often it is there."""
    speed = graph.gb_per_s_intra if nodes == 1 else min(graph.gb_per_s_intra, graph.gb_per_s_inter)
    count = len(graph.channels)
    types = graph.type_intra if nodes == 1 else f"{graph.type_intra}/{graph.type_inter}"
    lines = [f"{name}: {count} channels x {speed:g} GB/s = {count * speed:g} GB/s, {types}"]
    numbers: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for number, channel in enumerate(graph.channels):
        numbers.setdefault((channel.ranks, channel.nets), []).append(number)
    for (ranks, nets), which in numbers.items():
        through = f"  NIC {nets[0]} in, {nets[-1]} out" if nets else ""
        lines.append(f"  {_span(which)}: {' '.join(map(str, ranks))}{through}")
    return lines


def _span(numbers: list[int]) -> str:
    together = numbers[-1] - numbers[0] == len(numbers) - 1
    if len(numbers) == 1:
        return f"channel {numbers[0]}"
    return f"channels {numbers[0]}-{numbers[-1]}" if together else f"channels {','.join(map(str, numbers))}"
