# SPDX-License-Identifier: Apache-2.0
"""railgauge graph join: the rings and trees of several nodes, end to end."""

import os
import re
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.fabric.options import FabricFiles
from railgauge.cli.graph.policy_option import PolicyOption
from railgauge.cli.json_text import json_text
from railgauge.cli.machine_options import (
    LIVE,
    MACHINE_HELP,
    Json,
    MergeNics,
    NoP2p,
    SaveCapture,
    Set,
    open_machine,
    save_live,
    settings_in_force,
)
from railgauge.cli.machine_options import output as output_option
from railgauge.cli.output import document, print_json, print_lines, write_text
from railgauge.topo.channels.graph import Policy
from railgauge.topo.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railgauge.topo.channels.graph import Graphs
    from railgauge.topo.channels.joined import Joined
    from railgauge.topo.fabric.traffic import FabricLoad
    from railgauge.topo.facts.named_source import Source
    from railgauge.topo.machine import Machine
    from railgauge.topo.nccl.graph.model import System
    from railgauge.topo.nccl.settings.steering import Steering

REPEATED = re.compile(r"([0-9]{1,9})\*(.+)")
ONE_GB, MOST_CABLES = 10**9, 4
"""Bytes of the all-reduce, and cables of each pattern, that --fabric shows."""
MOST_NODES = 1024  # the plan has a step of every rank for every channel


def join(
    nodes: Annotated[
        list[str],
        typer.Argument(metavar="NODE", help=f"A machine for each node: {MACHINE_HELP}; 4*NODE for four equal ones."),
    ],
    save: SaveCapture = None,
    merged: MergeNics = False,
    no_p2p: NoP2p = False,
    policy: PolicyOption = Policy.BEST,
    settings: Set = None,
    fabric: FabricFiles = None,
    as_json: Json = False,
    output: Annotated[str | None, output_option("Write the JSON document to FILE.")] = None,
) -> None:
    """Join the channels of nodes, equal or not, into the rings and trees of all ranks.

    Examples:
        railgauge graph join 4*@dgx-h100
        railgauge graph join captures/gpu00[0-3].tar.zst --fabric fabric/
        railgauge graph join 2*live @dgx-h100-nic-x8 -o plan.json
    """
    from railgauge.topo.channels.joined import join as join_nodes
    from railgauge.topo.nccl.settings.steering import read_steering
    from railgauge.topo.render.fabric_load import load_lines, pattern_records
    from railgauge.topo.render.joined import joined_document, joined_lines

    names = _names(nodes)
    sources = save_live(names, save, os.environ)
    machines = {name: open_machine(source, merged=merged) for name, source in sources.items()}
    steering = read_steering(settings_in_force(machines.get(LIVE, machines[names[0]]), settings))
    found = {name: _searched(one, len(names), policy, steering, p2p=not no_p2p) for name, one in machines.items()}
    joined = join_nodes([(name, *found[name]) for name in names], steering)
    loads = _loads(joined, names, sources, fabric) if fabric else ()
    on_fabric = {"fabric": pattern_records(loads, ONE_GB, MOST_CABLES)} if loads else {}
    answer = document("plan", "", **joined_document(joined), **on_fabric)
    if output is not None:
        write_text(output, json_text(answer) + "\n")
    if as_json:
        print_json(answer)
    elif output is None:
        print("\n".join(joined_lines(joined)))
        print_lines(load_lines(loads, ONE_GB, MOST_CABLES))


def _loads(
    joined: "Joined", names: list[str], sources: "Mapping[str, Source]", fabric: list[str]
) -> "list[FabricLoad]":
    """What the cables carry of the rings and of the trees."""
    from railgauge.cli.fabric.options import adaptive_routing, open_fabric
    from railgauge.topo.fabric.captured import captured_ports
    from railgauge.topo.fabric.joined_traffic import joined_messages, nics_by_dev
    from railgauge.topo.fabric.routing import Routing
    from railgauge.topo.fabric.traffic import ChannelPattern, load_of

    found, _, _ = open_fabric(fabric, None)
    spread = adaptive_routing(found, asked=False)
    ports = {name: captured_ports([source]) for name, source in sources.items()}
    nics = [nics_by_dev(member.system, found, ports[name]) for name, member in zip(names, joined.members, strict=True)]
    routing = Routing(found)
    return [load_of(routing, joined_messages(joined, nics, one), one, adaptive=spread) for one in ChannelPattern]


def _names(nodes: list[str]) -> list[str]:
    """The nodes one by one; UsageError for none or too many."""
    repeated = [(int(found[1]), found[2]) if (found := REPEATED.fullmatch(node)) else (1, node) for node in nodes]
    count = sum(times for times, _ in repeated)
    if not 1 <= count <= MOST_NODES:
        raise UsageError(f"{count} nodes: give 1 to {MOST_NODES}; for more, use graph predict --nodes")
    return [name for times, name in repeated for _ in range(times)]


def _searched(
    machine: "Machine", nodes: int, policy: Policy, steering: "Steering", *, p2p: bool
) -> "tuple[System, Graphs]":
    """A node's System, and its graphs as one of `nodes`."""
    from railgauge.topo.predict.search import search

    system = machine.system
    denied = machine.denied
    return system, search(system, nodes=nodes, policy=policy, steering=steering, p2p=p2p, denied=denied)
