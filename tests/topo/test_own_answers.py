# SPDX-License-Identifier: Apache-2.0
"""Paths and graphs of machines from fixtures/, byte for byte as committed, in the form of NCCL's recorded answers."""

import json
from itertools import product

import pytest
from tests.golden_answers import FIELDS, OWN

from railgauge.topo.channels.graph import Policy
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.model import NodeKind
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.predict.search import search
from railgauge.topo.xml import topology_file

MACHINES = ("consumer-2x5090", "dgx-1v", "dgx-h100", "h200x4", "pcie-no-switch", "power9-ac922", "vm-flat")
ENDS = (NodeKind.GPU, NodeKind.NET, NodeKind.CPU, NodeKind.NVS)


@pytest.mark.parametrize("name", MACHINES)
def test_paths_and_graphs_are_as_committed(name, expect):
    topology = load_machine(f"@{name}", environment={}).topology
    system = build_system(topology)
    found = paths(system)
    starts = [node.id for node in (*system.gpus, *system.nets)]
    ends = [node.id for node in system.nodes if node.kind in ENDS]
    pairs = [(pair, found.get(*pair)) for pair in product(starts, ends)]
    rows = [[*pair, path.type, path.hops, round(path.gb_per_s, 3)] for pair, path in pairs if path.type != "DIS"]
    answer = {
        "topo": topology_file.dumps(topology),
        "options": [],
        **{
            mode: {"ok": True, "graphs": graphs_of(search(system, nodes=nodes, policy=Policy.NCCL))}
            for mode, nodes in (("intra", 1), ("inter", 2))
        },
    }
    answer["intra"]["paths"] = rows
    expect(OWN / f"{name}.json", lines(answer))


def graphs_of(graphs):
    return {
        name: {theirs: getattr(graph, ours) for theirs, ours in FIELDS.items()}
        | {"channels": [channel_of(channel) for channel in graph.channels]}
        for name, graph in (("ring", graphs.ring), ("tree", graphs.tree))
    }


def channel_of(channel):
    nets = {"nets": [str(net) for net in channel.nets]} if channel.nets else {}
    return {"ranks": list(channel.ranks)} | nets


def lines(answer):
    """A row of paths and a channel each on a line of their own."""
    text = json.dumps(answer)
    for start in ('["GPU/', '["NET/', '["CPU/', '["NVS/', '{"ranks"', '"channels"', '"tree"', '"intra"', '"inter"'):
        text = text.replace(start, f"\n{start}")
    return text + "\n"
