# SPDX-License-Identifier: Apache-2.0
"""Reports what NCCL's model assumes because a topology does not say it."""

from railgauge.topo.nccl.graph.bandwidth import NET_UNKNOWN_MBPS, PCI_LANES_UNKNOWN
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.topology import Topology
from railgauge.topo.xml.topology_file import is_rccl

RCCL = (
    "a topology of RCCL: XGMI links at RCCL's speeds; not modelled: its search by tables of known machines, its limits "
    "for P2P and GPUDirect RDMA and its cost model; NCCL's stand in their place"
)
FEW = 8
"""Devices that are named one by one."""


def remarks(topology: Topology) -> tuple[str, ...]:
    """One line per assumption, with the devices it is made for."""
    elements = [element for cpu in topology.cpus for element in cpu.walk()]
    devices = [e for e in elements if e.name == "pci"]
    widths = [e.get("busid") or "?" for e in elements if e.name == "pci" and _is_zero(e, "link_width")]
    speeds = [e.get("name") or "?" for e in elements if e.name == "net" and e.get("dev") and _is_zero(e, "speed")]
    lines = [RCCL] if is_rccl(topology) else []
    if widths:
        which = f"all {len(widths)} PCI devices" if len(widths) == len(devices) > FEW else ", ".join(widths)
        lines.append(f"link width unknown, assumed x{PCI_LANES_UNKNOWN}: {which}")
    if speeds:
        lines.append(f"speed unknown, assumed {NET_UNKNOWN_MBPS // 1000} Gb/s: {', '.join(speeds)}")
    return tuple(lines)


def _is_zero(element: Element, key: str) -> bool:
    return not (element.get(key) or "").strip(" 0")
