# SPDX-License-Identifier: Apache-2.0
"""The NVLinks of a file: how many each GPU has, and to whom."""

from collections import Counter

from railgauge.topo.facts.pci_class import DISPLAY
from railgauge.topo.findings.topology_file.elements import PlacedElement, TopoFile


def gpus(file: TopoFile) -> dict[tuple[str, int], PlacedElement]:
    """The first <gpu> of each PCI device, by host and bus id."""
    found: dict[tuple[str, int], PlacedElement] = {}
    for gpu in file.all("gpu"):
        found.setdefault(gpu.key, gpu)
    return found


def sm(placed: PlacedElement) -> int:
    """The compute capability of the GPU that an element is or belongs to, 0 when the file does not tell."""
    gpu = placed.nearest("gpu")
    return PlacedElement(element=gpu, around=()).number("sm") or 0 if gpu else 0


def count(link: PlacedElement) -> int:
    """How many NVLinks a <nvlink> stands for; 0 when it does not tell."""
    return link.number("count") or 0


def to_gpu(link: PlacedElement) -> bool:
    """Whether a <nvlink> ends at a GPU by its class (`ncclTopoAddNvLinks`)."""
    return (link.get("tclass") or "").startswith(DISPLAY)


def totals(file: TopoFile) -> Counter[tuple[str, int]]:
    """NVLinks of each GPU, to all ends together; every GPU is in it."""
    found = Counter(dict.fromkeys(gpus(file), 0))
    for link in file.all("nvlink"):
        found[link.key] += count(link)
    return found
