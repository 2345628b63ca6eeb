# SPDX-License-Identifier: Apache-2.0
"""One path in words: each hop with its bandwidth, the limiting one marked, and why the type is what it is."""

from railgauge.topo.model import System
from railgauge.topo.paths import Path
from railgauge.topo.render.wire_text import is_assumed, speed_text

WHY = {
    "LOC": "it stays where it is",
    "NVL": "only NVLink is crossed",
    "NVB": "NVLink is crossed by way of another GPU",
    "C2C": "only the chip-to-chip link to the CPU is crossed",
    "PIX": "at most one PCI switch is crossed",
    "PXB": "several PCI switches are crossed, but no CPU",
    "P2C": "the chip-to-chip link and the PCI root of that CPU are crossed",
    "PXN": "another GPU that is nearer to the NIC relays, reached by NVLink",
    "PHB": "a CPU (a PCI host bridge or host memory) is crossed",
    "SYS": "the wire between two CPUs is crossed",
    "NET": "both GPUs reach a NIC faster than each other, so the network is used",
    "DIS": "there is no way",
}


def describe(system: System, source: str, target: str, path: Path) -> str:
    """Lines of text about one path."""
    head = f"{source} -> {target}: {path.type}, {path.hops} hops, {speed_text(path.gb_per_s)}"
    lines = [head, f"  {path.type} because {WHY[path.type]}"]
    slowest = min((link.gb_per_s for link in path.links), default=0.0)
    for link in path.links:
        mark = " (assumed)" if is_assumed(system, link) else ""
        mark += "  <- limits" if link.gb_per_s == slowest else ""
        lines.append(f"  {link.kind:<3} {speed_text(link.gb_per_s):>12}  {link.source} -> {link.target}{mark}")
    return "\n".join(lines)
