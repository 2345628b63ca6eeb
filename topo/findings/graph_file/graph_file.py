# SPDX-License-Identifier: Apache-2.0
"""A graph file under inspection: its elements, and the machine it is for."""

from collections.abc import Iterator
from dataclasses import dataclass

from railgauge.topo.channels import graph_file
from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.channels.graph import Graph, Graphs
from railgauge.topo.channels.group import RankGroup, group_of
from railgauge.topo.channels.running import with_running
from railgauge.topo.errors import InputError
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.nccl.graph.model import Node, System
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.steering import Steering
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.text import MAX_BYTES, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedChannel:
    """A channel, with its number and the graph that it is in."""

    graph: Element
    channel: Element
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFile:
    """The file, and its machine as one of `nodes`. `graphs`: None if the strict reader rejects it because of `fault`.

    `group` follows the settings in force, `steering`, and the peer access that the driver denies.
    """

    path: str
    data: bytes
    root: Element
    system: System
    steering: Steering
    p2p: bool
    denied: frozenset[tuple[str, str]]
    nodes: int
    group: RankGroup
    graphs: Graphs | None
    fault: InputError | None

    def main(self) -> Iterator[Element]:
        """The ring's and the tree's <graph>, in file order."""
        return (graph for graph in self.root.all("graph") if graph.get("id") in ("0", "1"))

    def channels(self) -> Iterator[PlacedChannel]:
        """The channels of ring and tree, in file order."""
        for graph in self.main():
            for number, channel in enumerate(graph.all("channel")):
                yield PlacedChannel(graph=graph, channel=channel, number=number)

    def read(self) -> Iterator[tuple[Element, Graph]]:
        """The ring and tree of the file, each with its element; empty if the strict reader rejects it."""
        if self.graphs:
            known = {"0": self.graphs.ring, "1": self.graphs.tree}
            yield from ((graph, known[graph.get("id") or ""]) for graph in self.main())


def name_of(graph: Element) -> str:
    """The name of a graph in findings."""
    return {"0": "ring", "1": "tree"}.get(graph.get("id") or "", f"graph {graph.get('id')}")


def read(
    path: str,
    system: System,
    *,
    nodes: int | None = None,
    steering: Steering,
    p2p: bool = True,
    denied: frozenset[tuple[str, str]] = frozenset(),
) -> GraphFile:
    """Read a graph file for a System; InputError with the line if it is not graph XML.

    `nodes` None: one, or two where the file's channels have NICs. UnavailableError for a System without ranks.
    """
    data = read_bytes(path, MAX_BYTES)
    root = parse(data, path, "graphs")
    count = nodes or (2 if any(element.name == "net" for element in root.walk()) else 1)
    group = group_of(system, paths(system, p2p=p2p, levels=steering.levels, denied=denied), count)
    graphs, fault = _strictly(path, data, system, group.ranks)
    graphs = with_running(group, graphs) if graphs else None
    return GraphFile(
        path=path,
        data=data,
        root=root,
        system=system,
        steering=steering,
        p2p=p2p,
        denied=denied,
        nodes=count,
        group=group,
        graphs=graphs,
        fault=fault,
    )


def _strictly(
    path: str, data: bytes, system: System, ranks: tuple[Node, ...]
) -> tuple[Graphs | None, InputError | None]:
    try:
        return graph_file.loads(data, system, path, ranks), None
    except InputError as error:
        return None, error


def named(file: GraphFile, element: Element, nodes: tuple[Node, ...]) -> Node | None:
    """The GPU or NIC among `nodes` that a <gpu> or <net> names by its dev; None if unknown."""
    try:
        number = graph_file.dev_of(element, file.path)
    except InputError:
        return None
    return next((node for node in nodes if dev_number(node) == number), None)
