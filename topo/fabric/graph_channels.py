# SPDX-License-Identifier: Apache-2.0
"""By which NICs the channels of a graph file (NCCL's graph XML) enter and leave a node."""

from railgauge.topo.channels.graph import RING
from railgauge.topo.channels.graph_file import dev_of
from railgauge.topo.errors import InputError
from railgauge.topo.fabric.traffic import ChannelNics, ChannelPattern
from railgauge.topo.xml.text import read_file


def graph_channels(path: str) -> dict[ChannelPattern, tuple[ChannelNics, ...]]:
    """The channels of the ring and of the tree; NICs by their dev number.

    Raises:
        InputError: it is no graph file, or has no channel with NICs.
    """
    root = read_file(path, "graphs")
    found: dict[ChannelPattern, tuple[ChannelNics, ...]] = {}
    for graph in root.all("graph"):
        pattern = ChannelPattern.RING if graph.integer("pattern", path, 0) == RING else ChannelPattern.TREE
        channels = []
        for channel in graph.all("channel"):
            nets = [dev_of(net, path) for net in channel.all("net")]
            if nets:
                channels.append(ChannelNics(nets[0], nets[-1]))
        if channels and pattern not in found:
            found[pattern] = tuple(channels)
    if ChannelPattern.RING not in found:
        raise InputError("no ring that enters and leaves by NICs: graph search --nodes 2 -o FILE writes one", path)
    found.setdefault(ChannelPattern.TREE, found[ChannelPattern.RING])
    return found
