# SPDX-License-Identifier: Apache-2.0
"""The NVLinks of a file: their number per GPU, and their targets."""

from collections import Counter

from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.nccl.graph.gfx import gfx_name
from railgauge.topo.values.pci_class import GPUS
from railgauge.topo.xml.placed_element import PlacedElement


def gpus(file: Machine) -> dict[tuple[str, int], PlacedElement]:
    """The first <gpu> of each PCI device, by host and bus id."""
    found: dict[tuple[str, int], PlacedElement] = {}
    for gpu in file.topology.placed("gpu"):
        found.setdefault(gpu.key, gpu)
    return found


def sm(placed: PlacedElement) -> int:
    """The compute capability of the GPU that an element is or belongs to, 0 if not in the file."""
    gpu = placed.nearest("gpu")
    return PlacedElement(element=gpu, around=()).number("sm") or 0 if gpu and not gpu.get("gcn") else 0


def link(placed: PlacedElement) -> bandwidth.LinkOfGpu:
    """What joins the GPU, that an element is or belongs to, to others."""
    gpu = placed.nearest("gpu")
    return bandwidth.link_of_gpu(sm(placed), gfx_name(gpu.get("gcn")) if gpu else None)


def count(link: PlacedElement) -> int:
    """The number of NVLinks of a <nvlink>; 0 if absent."""
    return link.number("count") or 0


def to_gpu(link: PlacedElement) -> bool:
    """Whether a <nvlink> ends at a GPU by its class (`ncclTopoAddNvLinks`)."""
    return (link.get("tclass") or "").startswith(GPUS)


def totals(file: Machine) -> Counter[tuple[str, int]]:
    """The total of NVLinks of each GPU; every GPU is included."""
    found = Counter(dict.fromkeys(gpus(file), 0))
    for link in file.topology.placed("nvlink"):
        found[link.key] += count(link)
    return found
