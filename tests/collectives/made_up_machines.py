# SPDX-License-Identifier: Apache-2.0
"""Topology files of small machines with some NICs, and nodes detected from them."""

from pathlib import Path

from railgauge.collectives.node import Node
from railgauge.collectives.node_detection import detect_node
from railgauge.transports.nccl_log import NcclLog

CPU = '<cpu host_hash="{hash}" numaid="0" affinity="f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">'
NET = '<net name="{name}" dev="{dev}" latency="0" speed="{speed}" port="0" guid="{dev:#x}" maxconn="65536" gdr="0"/>'
QUIET = NcclLog(0, {})


def topology(nics: dict[str, int], host_hash: str = "0x1") -> str:
    """NCCL's XML of one CPU with NICs of so many Mb/s each."""
    nets = "".join(NET.format(name=name, dev=dev, speed=speed) for dev, (name, speed) in enumerate(nics.items()))
    nic = f"<nic>{nets}</nic>" if nets else ""
    return f'<system version="1">{CPU.format(hash=host_hash)}{nic}</cpu></system>'


def node(folder: Path, name: str, ranks: int, nodes: int, nics: dict[str, int], **options) -> Node:
    """A machine with those NICs as `ranks` host ranks see it; this process's only interface is lo."""
    path = folder / f"{name}.xml"
    path.write_text(topology(nics))
    environ = {"NCCL_TOPO_FILE": str(path), "NCCL_SOCKET_IFNAME": "lo"} | options.pop("environ", {})
    return detect_node(name, ranks, nodes, options.pop("graph_file", None), options.pop("log", QUIET), environ)
