# SPDX-License-Identifier: Apache-2.0
"""Nodes of one NVLink domain (MNNVL: GB200 and GB300 NVL72), which NCCL takes for one node.

Their GPUs are all in one domain (nccl/detect/mnnvl.py).
"""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.facts.sources.nvml import NvmlGpu
from railgauge.topo.nccl.detect.mnnvl import domain_of
from railgauge.topo.predict.release import Release
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.topology import Topology

FIRST: Release = (2, 21, 5)
"""The first release with MNNVL."""
MOST_GPUS = 72
"""Of a domain: NVL72."""
HOST_BIT = 32  # copies differ in bits of the GUID from here on


def domain_nodes(gpus: tuple[NvmlGpu, ...], nodes: int, release: Release) -> int:
    """How many of `nodes` equal nodes are a domain: as many as fit and divide them evenly; 1 without a fabric."""
    domains = {domain_of(gpu.fabric) for gpu in gpus}
    if release < FIRST or len(domains) != 1 or "" in domains:
        return 1
    return max(count for count in range(1, max(1, MOST_GPUS // len(gpus)) + 1) if nodes % count == 0)


def joined(topology: Topology, count: int) -> Topology:
    """The topology of `count` such nodes with one NVLink fabric, each with a host hash, ranks and GUIDs of its own."""
    gpus = len(topology.gpus)
    cpus = tuple(_copy(cpu, number, gpus) for number in range(count) for cpu in topology.cpus)
    rest = tuple(one for one in topology.root.children if one.name != "cpu")
    now = {
        (str(number + 1), bus_id): rate for number in range(count) for (_, bus_id), rate in (topology.now or {}).items()
    }
    return replace(topology, root=replace(topology.root, children=(*cpus, *rest)), now=now or topology.now)


def _copy(element: Element, number: int, gpus: int) -> Element:
    """An element of a node, of the node of that number."""
    children = tuple(_copy(child, number, gpus) for child in element.children)
    return replace(element, attributes=tuple(_attributes(element, number, gpus)), children=children)


def _attributes(element: Element, number: int, gpus: int) -> Iterator[tuple[str, str]]:
    if element.name == "cpu":
        yield "host_hash", f"0x{number + 1:x}"
    for name, text in element.attributes:
        if name == "host_hash":
            continue
        if (element.name, name) == ("gpu", "rank"):
            text = str(int(text) + number * gpus)
        if (element.name, name) == ("net", "guid"):
            text = f"0x{int(text, 16) ^ (number << HOST_BIT):x}"
        yield name, text
