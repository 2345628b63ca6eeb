# SPDX-License-Identifier: Apache-2.0
"""graph.txt: NCCL's graph XML, version 1 (NCCL_GRAPH_DUMP_FILE writes it, NCCL_GRAPH_FILE reads it).

Format: `ncclTopoGetXmlFromGraph` and `ncclTopoGetGraphFromXml` of NCCL's src/graph/search.cc. A <gpu> or <net> is named
by its dev number with the number of its host in the highest byte, as `%#lx`. Host ranks take the place of GPUs, by
rank. The `rank` that NCCL 2.30 writes beside dev is omitted, as by older NCCL: it overrides dev, so that a file with it
works on one node of a job only.
"""

import re
from collections.abc import Sequence

from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.channels.graph import (
    BALANCED_TREE,
    COLLNET_DIRECT,
    MAX_CHANNELS,
    NVLS,
    RING,
    SPLIT_TREE,
    TREE,
    Channel,
    Graph,
    Graphs,
)
from railgauge.topo.errors import InputError
from railgauge.topo.nccl.graph.model import PATH_TYPES, Node, NodeKind, System
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.text import parse, read_file, write

VERSION = "1"  # NCCL_GRAPH_XML_VERSION
RING_ID, TREE_ID = 0, 1
EMPTY = ((4, COLLNET_DIRECT), (2, TREE), (3, NVLS))  # id and pattern of graphs that NCCL dumps although they are empty
LOADED_TYPES = (
    "LOC",
    "NVL",
    "NVB",
    "PIX",
    "PXB",
    "P2C",
    "PXN",
    "PHB",
    "SYS",
)  # kvDictLinkType: the types that NCCL loads
DEV = re.compile(r"\s*(?:0[xX])?0*([0-9a-fA-F]+)\s*")
MOST_DIGITS = 16  # of 64 bits
TREES = (BALANCED_TREE, SPLIT_TREE, TREE)


def dumps(graphs: Graphs, system: System) -> str:
    """The graphs as NCCL would write them, byte for byte."""
    others = graphs.others if graphs.others is not None else tuple(_empty(number, pattern) for number, pattern in EMPTY)
    main = (_graph(RING_ID, graphs.ring, system), _graph(TREE_ID, graphs.tree, system))
    return write(Element(name="graphs", attributes=(("version", VERSION),), children=(*main, *others)))


def load(path: str, system: System, ranks: Sequence[Node] | None = None) -> Graphs:
    """Read a graph file for that System; InputError with path and line when it is unreadable or does not fit.

    `ranks`: those that each channel visits if NCCL splits the System into nodes; else all.
    """
    return _Reading(system, path, ranks).graphs(read_file(path, "graphs"))


def loads(text: str | bytes, system: System, name: str | None = None, ranks: Sequence[Node] | None = None) -> Graphs:
    """Read graphs from text; `name` stands for the path in errors, `ranks` as in `load`."""
    return _Reading(system, name, ranks).graphs(parse(text.encode() if isinstance(text, str) else text, name, "graphs"))


def _graph(number: int, graph: Graph, system: System) -> Element:
    attributes = (
        ("id", str(number)),
        ("pattern", str(graph.pattern)),
        ("crossnic", str(graph.cross_nic)),
        ("nchannels", str(len(graph.channels))),
        ("speedintra", f"{graph.gb_per_s_intra:g}"),
        ("speedinter", f"{graph.gb_per_s_inter:g}"),
        ("latencyinter", f"{graph.latency_inter:g}"),
        ("typeintra", _loaded(graph.type_intra)),
        ("typeinter", _loaded(graph.type_inter)),
        ("samechannels", str(graph.same_channels)),
    )
    children = tuple(_channel(channel, system) for channel in graph.channels)
    return Element(name="graph", attributes=attributes, children=children)


def _empty(number: int, pattern: int) -> Element:
    nothing = Graph(
        pattern=pattern,
        cross_nic=0,
        same_channels=0,
        type_intra="LOC",
        type_inter="LOC",
        latency_inter=0,
        gb_per_s_intra=0,
        gb_per_s_inter=0,
        search_ms=0,
        channels=(),
    )
    return _graph(number, nothing, System(nodes=(), links=(), ranks=()))


def _channel(channel: Channel, system: System) -> Element:
    nets = {dev_number(net): net for net in reversed(system.kind(NodeKind.NET))}
    entry, leave = [("net", nets[dev]) for dev in channel.nets[:1]], [("net", nets[dev]) for dev in channel.nets[1:]]
    parts = [*entry, *(("gpu", system.ranks[rank]) for rank in channel.ranks), *leave]
    children = tuple(Element(name=name, attributes=(("dev", _dev_text(node)),)) for name, node in parts)
    return Element(name="channel", children=children)


def _loaded(path_type: str) -> str:
    """The type, or the nearest further one that NCCL loads: it rejects C2C, NET and DIS, and writes none of them."""
    further = PATH_TYPES[PATH_TYPES.index(path_type) :]
    return next((one for one in further if one in LOADED_TYPES), LOADED_TYPES[-1])


def dev_of(element: Element, path: str | None) -> int:
    """The dev of a <gpu> or <net>: hexadecimal with or without 0x, as NCCL reads it; InputError for other text."""
    text = element.require("dev", path)
    found = DEV.fullmatch(text)
    if found is None:
        raise InputError(f"<{element.name}> dev is {text[:40]!r}, not a hexadecimal number", path, element.line)
    if len(found[1]) > MOST_DIGITS:
        raise InputError(f"<{element.name}> dev is {text[:40]!r}, more than 64 bits", path, element.line)
    return int(found[1], 16)


def _dev_text(node: Node) -> str:
    number = dev_number(node)
    return f"{number:#x}" if number else "0"


class _Reading:
    """Reads one file against one System."""

    def __init__(self, system: System, path: str | None, ranks: Sequence[Node] | None) -> None:
        self._path = path
        self._ranks = {dev_number(node): node.rank or 0 for node in (ranks or system.ranks)}
        self._nets = {dev_number(net): dev_number(net) for net in system.nets}

    def graphs(self, root: Element) -> Graphs:
        """Ring and tree; a file without a tree gets one on the ring's channels."""
        if root.get("version") != VERSION:
            raise InputError(f"graph version is {root.get('version')!r}, expected {VERSION!r}", self._path, root.line)
        found = {graph.integer("id", self._path): graph for graph in root.all("graph")}
        if RING_ID not in found:
            raise InputError('has no ring (<graph id="0">)', self._path, root.line)
        ring = self._graph(found[RING_ID], self._pattern(found[RING_ID], (RING,)))
        own = found.get(TREE_ID)
        tree = self._graph(own or found[RING_ID], self._pattern(own, TREES) if own else BALANCED_TREE)
        others = tuple(e for e in root.children if e.name != "graph" or e.integer("id", self._path) not in (0, 1))
        return Graphs(ring=ring, tree=tree, others=others)

    def _pattern(self, graph: Element, known: tuple[int, ...]) -> int:
        """The graph's pattern, the first of those known without one."""
        pattern = graph.integer("pattern", self._path, known[0])
        if pattern not in known:
            wanted = " or ".join(map(str, known))
            raise InputError(f"pattern is {pattern}, expected {wanted} for this graph", self._path, graph.line)
        return pattern

    def _graph(self, graph: Element, pattern: int) -> Graph:
        channels = tuple(self._channel(channel) for channel in graph.all("channel"))
        count = graph.integer("nchannels", self._path, len(channels))
        if not channels:
            raise InputError("the graph has no channel", self._path, graph.line)
        if count != len(channels):
            raise InputError(
                f"nchannels is {count}, but the graph has {len(channels)} channels", self._path, graph.line
            )
        if count > MAX_CHANNELS:
            raise InputError(f"has {count} channels: NCCL has at most {MAX_CHANNELS}", self._path, graph.line)
        return Graph(
            pattern=pattern,
            cross_nic=graph.integer("crossnic", self._path, 0),
            same_channels=graph.integer("samechannels", self._path, 0),
            type_intra=self._type(graph, "typeintra"),
            type_inter=self._type(graph, "typeinter"),
            latency_inter=self._speed(graph, "latencyinter", least=0.0),
            gb_per_s_intra=self._speed(graph, "speedintra"),
            gb_per_s_inter=self._speed(graph, "speedinter"),
            search_ms=0.0,
            channels=channels,
        )

    def _type(self, graph: Element, key: str) -> str:
        text = graph.get(key) or "LOC"
        if text not in PATH_TYPES:
            raise InputError(f"{key} is {text[:40]!r}, not one of {' '.join(PATH_TYPES)}", self._path, graph.line)
        return text

    def _speed(self, graph: Element, key: str, least: float | None = None) -> float:
        text = graph.get(key) or "0"
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not 0 <= value < 1e6 or (least is None and value == 0):
            raise InputError(f"{key} is {text[:40]!r}, not a speed in GB/s", self._path, graph.line)
        return value

    def _channel(self, channel: Element) -> Channel:
        ranks: list[int] = []
        for gpu in channel.all("gpu"):
            rank = self._known(gpu, self._ranks)
            if rank in ranks:
                raise InputError(f"rank {rank} is in the channel twice", self._path, gpu.line)
            ranks.append(rank)
        missing = sorted(set(self._ranks.values()) - set(ranks))
        if missing:
            raise InputError(f"the channel has no rank {', '.join(map(str, missing))}", self._path, channel.line)
        nets = [self._known(net, self._nets) for net in channel.all("net")]
        if len(nets) not in (0, 2):
            raise InputError(
                f"the channel has {len(nets)} <net>, expected none or in and out", self._path, channel.line
            )
        return Channel(ranks=tuple(ranks), nets=tuple(nets))

    def _known(self, element: Element, numbers: dict[int, int]) -> int:
        dev = dev_of(element, self._path)
        if dev not in numbers:
            known = ", ".join(f"{number:#x}" for number in sorted(numbers)) or "none"
            raise InputError(
                f"<{element.name}> dev {dev:#x} is not on this machine ({known})", self._path, element.line
            )
        return numbers[dev]
