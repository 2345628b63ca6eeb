# SPDX-License-Identifier: Apache-2.0
"""A machine as seen by a job on some of its GPUs."""

from collections.abc import Sequence
from dataclasses import replace

from railgauge.topo.nccl.graph.model import Node
from railgauge.topo.xml.topology import Topology
from railgauge.topo.xml.tree import ElementBuilder, thaw


def with_gpus(topology: Topology, gpus: Sequence[Node]) -> Topology:
    """The topology with only those GPUs, ranked in that order; all NICs stay, as in NCCL."""
    root = thaw(topology.root)
    chosen = {gpu.bus_id: (rank, gpu) for rank, gpu in enumerate(gpus)}
    for device in [tree for tree in root.walk() if tree.name == "pci"]:
        for element in list(device.all("gpu")):
            rank, gpu = chosen.get(device.get("busid"), (0, None))
            if gpu is None:
                _remove(device, element)
            else:
                element.put("dev", str(gpu.dev))
                element.put("rank", str(rank))
    return replace(topology, root=root.freeze())


def _remove(device: ElementBuilder, element: ElementBuilder) -> None:
    """Remove a GPU, and its PCI device if nothing else is on it."""
    device.children.remove(element)
    if not device.children and device.parent:
        device.parent.children.remove(device)
