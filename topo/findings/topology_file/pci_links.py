# SPDX-License-Identifier: Apache-2.0
"""The bandwidth of the link of a <pci> in NCCL's model, and its text."""

from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.xml.placed_element import PlacedElement


def gb_per_s(pci: PlacedElement) -> float:
    """The link above a device as NCCL counts it: an unknown speed as Gen3, an unknown width as 16 lanes."""
    return bandwidth.pci(pci.get("link_speed") or "", max(pci.number("link_width") or 0, 0))


def text(pci: PlacedElement) -> str:
    """The link as text, e.g. "32.0 GT/s PCIe x16"."""
    return f"{pci.get('link_speed') or 'unknown speed'} x{pci.get('link_width') or '?'}"
