# SPDX-License-Identifier: Apache-2.0
"""Whether a graph file was made with the ports of each card as one NIC, while the topology has them apart.

NCCL merges ports after it has read or written its topology file, so its graph files name NICs that no topology has.
"""

from collections.abc import Iterator

from railgauge.topo.channels.graph_file import dev_of
from railgauge.topo.errors import InputError
from railgauge.topo.nccl.detect.merged_nics import merge_nics
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.text import read_file
from railgauge.topo.xml.topology import Topology


def merged_for(path: str, topology: Topology) -> Topology | None:
    """The topology with merged ports, if all NICs that a graph file names are only there; else None."""
    try:
        named = {dev_of(net, path) for net in read_file(path, "graphs").walk() if net.name == "net"}
        merged = merge_nics(topology)
    except InputError:
        return None  # what reads the file for its channels says why
    return merged if named <= set(_devs(merged)) and not named <= set(_devs(topology)) else None


def _devs(topology: Topology) -> Iterator[int]:
    """The numbers of the NICs in use: a port that is part of a merged NIC has net="0"."""
    nets = (one for one in topology.root.walk() if _is_used(one))
    return (net.integer("dev", topology.path) for net in nets)


def _is_used(element: Element) -> bool:
    return element.name == "net" and element.get("dev") is not None and element.get("net") != "0"
