# SPDX-License-Identifier: Apache-2.0
"""railgauge graph search: searches the channels that collectives should use."""

from typing import TYPE_CHECKING, Annotated

from railgauge.cli.graph.policy_option import PolicyOption
from railgauge.cli.json_text import json_text
from railgauge.cli.machine_options import (
    DeviceChoice,
    DeviceOption,
    From,
    Gpus,
    Ids,
    IdsOption,
    Json,
    MergeNics,
    Nodes,
    NoP2p,
    Ranks,
    SaveCapture,
    Set,
    TopoFile,
    link_names,
    open_machine,
    open_system,
    settings_in_force,
)
from railgauge.cli.machine_options import output as output_option
from railgauge.cli.output import document, print_json, print_text, write_text
from railgauge.topo.channels.graph import Policy
from railgauge.topo.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railgauge.topo.predict.plan import NodePlan

PICTURES = (".svg", ".dot", ".html")  # of graph show


def search(
    source: From = None,
    save: SaveCapture = None,
    gpus: Gpus = None,
    topo_file: TopoFile = None,
    nodes: Nodes = 1,
    ranks: Ranks = None,
    device: DeviceOption = DeviceChoice.AUTO,
    merged: MergeNics = False,
    no_p2p: NoP2p = False,
    policy: PolicyOption = Policy.BEST,
    settings: Set = None,
    ids: IdsOption = Ids.NAMES,
    as_json: Json = False,
    output: Annotated[str | None, output_option("Write NCCL's graph XML, or JSON if FILE ends in .json.")] = None,
) -> None:
    """Search the channels that collectives should use, and write them as NCCL_GRAPH_FILE reads them.

    Examples:
        railgauge graph search --from @dgx-h100
        railgauge graph search --nodes 2 -o graph.txt
        railgauge graph search --policy nccl --set NCCL_CROSS_NIC=0
    """
    from railgauge.topo.channels import graph_file
    from railgauge.topo.nccl.graph.peer_status import denied_pairs
    from railgauge.topo.nccl.paths.paths import paths
    from railgauge.topo.nccl.settings.steering import read_steering
    from railgauge.topo.predict.plan import NodePlan
    from railgauge.topo.predict.release import known_release
    from railgauge.topo.predict.search import search as search_graphs
    from railgauge.topo.render.graph import graph_records
    from railgauge.topo.render.nvls import nvls_record

    if output is not None and output.lower().endswith(PICTURES):
        raise UsageError(f"-o {output}: search writes graph XML or JSON; use railgauge graph show to draw")
    machine = open_machine(source, gpus, merged=merged, topo_file=topo_file, save=save)
    steering = read_steering(settings_in_force(machine, settings))
    system = open_system(machine, ranks, device)
    denied = denied_pairs(system, machine.reader)
    graphs = search_graphs(system, nodes=nodes, policy=policy, steering=steering, p2p=not no_p2p, denied=denied)
    plan = NodePlan(
        system=system,
        table=paths(system, p2p=not no_p2p, levels=steering.levels, denied=denied),
        graphs=graphs,
        nodes=nodes,
        steering=steering,
        release=known_release(machine.sources.nccl),
    )
    answer = document("graph", machine.host, graphs=graph_records(graphs), nvls=nvls_record(plan))
    if output is not None:
        text = json_text(answer) + "\n" if output.endswith(".json") else graph_file.dumps(graphs, system)
        write_text(output, text)
    if as_json:
        print_json(answer)
    elif output is None:
        print_text("\n".join(_lines(plan, link_names(system, ids))))


def _lines(plan: "NodePlan", names: "Mapping[str, str]") -> list[str]:
    from railgauge.topo.render.graph import graph_lines, rank_lines
    from railgauge.topo.render.nvls import nvls_lines

    graphs = plan.graphs
    counted = 2 if graphs.ring.channels[0].nets else plan.nodes  # NCCL may split a node into several
    ring, tree = (graph_lines(*one, counted, names) for one in (("ring", graphs.ring), ("tree", graphs.tree)))
    return [*rank_lines(plan.system, graphs.ring), *ring, *tree, *nvls_lines(plan, names)]
