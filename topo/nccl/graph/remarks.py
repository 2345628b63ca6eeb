# SPDX-License-Identifier: Apache-2.0
"""What a topology leaves unsaid and NCCL's model assumes: told, so that no assumption passes for a fact."""

from railgauge.topo.nccl.graph.bandwidth import NET_UNKNOWN_MBPS, PCI_LANES_UNKNOWN
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.topology import Topology


def remarks(topology: Topology) -> tuple[str, ...]:
    """One line for each assumption, naming the devices it is made for."""
    elements = [element for cpu in topology.cpus for element in cpu.walk()]
    widths = [e.get("busid") or "?" for e in elements if e.name == "pci" and _is_zero(e, "link_width")]
    speeds = [e.get("name") or "?" for e in elements if e.name == "net" and e.get("dev") and _is_zero(e, "speed")]
    lines = []
    if widths:
        lines.append(f"link width unknown, counted as {PCI_LANES_UNKNOWN} lanes: {', '.join(widths)}")
    if speeds:
        lines.append(f"speed unknown, counted as {NET_UNKNOWN_MBPS // 1000} Gb/s: {', '.join(speeds)}")
    return tuple(lines)


def _is_zero(element: Element, key: str) -> bool:
    return not (element.get(key) or "").strip(" 0")
