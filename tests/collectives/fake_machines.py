# SPDX-License-Identifier: Apache-2.0
"""Topology files of small machines with some NICs, and nodes detected from them."""

from pathlib import Path

from railgauge.collectives.node import JoiningNode
from railgauge.collectives.node_detection import detect_node
from railgauge.transports.ib.device import IbDevice, IbPort
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import SOCKETS, Network
from railgauge.transports.select import NET_IB

CPU = '<cpu host_hash="{hash}" numaid="0" affinity="f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">'
NET = '<net name="{name}" dev="{dev}" latency="0" speed="{speed}" port="0" guid="{dev:#x}" maxconn="65536" gdr="0"/>'
QUIET = NcclLog(0, {})


def topology(nics: dict[str, int], host_hash: str = "0x1") -> str:
    """NCCL's XML of one CPU with NICs of so many Mb/s each."""
    nets = "".join(NET.format(name=name, dev=dev, speed=speed) for dev, (name, speed) in enumerate(nics.items()))
    nic = f"<nic>{nets}</nic>" if nets else ""
    return f'<system version="1">{CPU.format(hash=host_hash)}{nic}</cpu></system>'


def node(folder: Path, name: str, ranks: int, nodes: int, nics: dict[str, int], **options) -> JoiningNode:
    """A machine with those NICs as `ranks` host ranks see it; this process's only interface is lo."""
    path = folder / f"{name}.xml"
    path.write_text(topology(nics))
    environ = {"NCCL_TOPO_FILE": str(path), "NCCL_SOCKET_IFNAME": "lo"} | options.pop("environ", {})
    graph_file, log = options.pop("graph_file", None), options.pop("log", QUIET)
    return detect_node(name, ranks, nodes, graph_file, log, environ, network=options.pop("network", SOCKETS))


def over_ib(*nics: tuple[int, ...]) -> Network:
    """NET/IB with NICs of these ports, which are mlx5_PORT; a NIC of several is numbered after all ports."""
    ports = sum(map(len, nics))
    merged = iter(range(ports, ports + len(nics)))
    numbers = [nic[0] if len(nic) == 1 else next(merged) for nic in nics]
    made = [[IbPort(f"mlx5_{port}", 1, "Ethernet", 3, f"10.77.{port}.1") for port in nic] for nic in nics]
    return Network(
        name=NET_IB, devices=tuple(IbDevice(number, tuple(one)) for number, one in zip(numbers, made, strict=True))
    )
