# SPDX-License-Identifier: Apache-2.0
"""Topology files as cloud providers ship them: GPUs and NICs stand there by PCI class alone, without <gpu> and <net>.

NCCL fills those in on the machine. To plan without it they are assumed, by the PCI ids, where the file has some, and by
how many devices there are and how fast their slots are.
"""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.facts.pasted.gpu_models import of_id
from railgauge.topo.facts.sources.nvml import max_nvlinks
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.values.pci_class import GPUS, NETWORK, NVSWITCH
from railgauge.topo.values.spans import listed
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.topology import Topology

BOARD = 8
"""GPUs of the boards with NVSwitches; of fewer nobody knows how they are wired."""
UNSEEN = "fffffff:ff:ff.0"
"""NCCL's bus id of an NVSwitch that the host does not see."""
BY_SLOT = ((96.0, 100), (48.0, 90), (24.0, 80), (0.0, 70))
"""GB/s of a GPU's slot in NCCL's model, and the compute capability of the GPUs of that time on such boards."""
AMAZON, EFA_GBPS = "0x1d0f", 100
PORTS_GBPS = (800, 400, 200, 100)
MODEL_PER_RAW = 240 / 252
"""NCCL's figure of a lane beside what the line carries (32 GT/s, 128b/130b)."""


def completed(file: Topology) -> tuple[Topology, tuple[str, ...]]:
    """The topology with what is assumed, and that in words; as it is where the file has GPUs."""
    gpus = [pci for pci in _devices(file) if (pci.get("class") or "").startswith(GPUS)]
    if file.gpus or not gpus:
        return file, ()
    nics = [pci for pci in _devices(file) if (pci.get("class") or "").startswith(NETWORK)]
    bare = [pci for pci in nics if not any(True for _ in file.placed("net"))]
    sm = _capability(gpus[0])
    links = max_nvlinks(sm) if len(gpus) % BOARD == 0 else 0
    added = {id(pci): _gpu(dev, sm, links) for dev, pci in enumerate(gpus)}
    added |= {id(pci): _nic(dev, pci) for dev, pci in enumerate(bare)}
    return replace(file, root=_with(file.root, added), assumed=True), tuple(_words(gpus, sm, links, bare))


def _devices(file: Topology) -> Iterator[Element]:
    return (placed.element for placed in file.placed("pci"))


def _with(element: Element, added: dict[int, Element]) -> Element:
    new = (added[id(element)],) if id(element) in added else ()
    return replace(element, children=(*(_with(child, added) for child in element.children), *new))


def _slot(pci: Element) -> float:
    """GB/s of the slot in NCCL's model."""
    lanes = pci.get("link_width") or ""
    return bandwidth.pci(pci.get("link_speed") or "", int(lanes) if lanes.isdecimal() else 0)


def _capability(pci: Element) -> int:
    known = of_id(pci.get("device")) if pci.get("vendor") == "0x10de" else None
    return known[0] * 10 + known[1] if known else next(sm for least, sm in BY_SLOT if _slot(pci) >= least)


def _gpu(dev: int, sm: int, links: int) -> Element:
    wires = [Element(name="nvlink", attributes=(("target", UNSEEN), ("count", str(links)), ("tclass", NVSWITCH)))]
    attributes = (("dev", str(dev)), ("sm", str(sm)), ("rank", str(dev)), ("gdr", "1"))
    return Element(name="gpu", attributes=attributes, children=tuple(wires if links else ()))


def _gbps(pci: Element) -> int:
    """The fastest port that the slot carries; Amazon's adapters have one of 100 Gb/s."""
    if pci.get("vendor") == AMAZON:
        return EFA_GBPS
    carried = _slot(pci) / MODEL_PER_RAW * 8
    return next((port for port in PORTS_GBPS if port <= carried), PORTS_GBPS[-1])


def _nic(dev: int, pci: Element) -> Element:
    attributes = {
        "name": f"NIC{dev}",
        "dev": dev,
        "latency": 0,
        "speed": _gbps(pci) * 1000,
        "port": 1,
        "guid": f"{dev + 1:#x}",
        "maxconn": 131072,
        "gdr": 1,
    }
    net = Element(name="net", attributes=tuple((key, str(value)) for key, value in attributes.items()))
    return Element(name="nic", children=(net,))


def _words(gpus: list[Element], sm: int, links: int, nics: list[Element]) -> Iterator[str]:
    by = "their PCI id" if of_id(gpus[0].get("device")) else "the speed of their slots"
    wired = f"{links} NVLinks each to NVSwitches" if links else "NVLinks unknown, so none"
    yield (
        f"the file has GPUs by PCI class alone, which NCCL fills in on the machine; assumed: {len(gpus)} GPUs of "
        f"compute capability {sm // 10}.{sm % 10} (by {by}), {wired}, GPUDirect RDMA"
    )
    if nics:
        speeds = listed(sorted({_gbps(nic) for nic in nics}))
        yield f"the file has NICs by PCI class alone; assumed: NIC0 to NIC{len(nics) - 1} of {speeds} Gb/s each"
