# SPDX-License-Identifier: Apache-2.0
"""One node of a run as described to the others: its topology, its channels, its NICs, the cores of its ranks."""

import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from railgauge.transports.typed import jsonable, read_json

if TYPE_CHECKING:
    from railgauge.topo.channels.graph import Graphs
    from railgauge.topo.nccl.graph.model import System

MOST_BYTES = 64 << 20
"""Limit of a description's size after decompression."""


class Direct(NamedTuple):
    """GPUDirect RDMA between a GPU and a NIC, as NCCL decides."""

    device: int
    """The NIC: by dev number in a graph Node, by its number in the job's network in a plan."""
    sends: bool
    receives: bool
    flushes: bool
    """Received data needs a flush before a kernel may read it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JoiningNode:
    """What joining the nodes needs; texts, so that they can be sent."""

    name: str
    """The host's name, with a number if several nodes have it."""
    ranks: int
    topology: str
    """NCCL's topology XML."""
    graphs: str
    """NCCL's graph XML."""
    cpus: list[list[int]]
    """The cores for each of its ranks; empty if unknown."""
    gpus: list[str]
    """The bus ids of its ranks' GPUs; none of ranks in host memory."""
    p2p: list[list[bool]]
    """By rank and rank of the node, whether NCCL lets one GPU write into the other's memory."""
    gb_per_s: list[list[float]]
    """Between GPUs, likewise, by their path; GB/s."""
    nvlink: bool
    """Whether all its GPUs have NVLink to one another."""
    devices: list[tuple[int, int]]
    """NICs of the topology by dev number, and the device of the job's network that each one is."""
    nics: list[int]
    """By rank of the node the dev number of the NIC that NCCL selects for its GPU; empty for ranks in host memory."""
    direct: list[list[Direct]]
    """By rank of the node how its GPU can use each NIC; likewise."""
    domains: list[str]
    """By rank of the node the NVLink domain of its GPU (`domain_of`); empty for ranks in host memory, and for one node
    alone."""

    def pack(self) -> bytes:
        """For the bootstrap's all-gather."""
        return zlib.compress(json.dumps(self, default=jsonable).encode())

    @classmethod
    def unpack(cls, data: bytes) -> "JoiningNode":
        """Read what a rank of the job packed; ValueError where it is something else."""
        reader = zlib.decompressobj()
        try:
            text = reader.decompress(data, MOST_BYTES)
            if not reader.eof:
                raise ValueError(f"more than {MOST_BYTES} bytes, or truncated")
            node: JoiningNode = read_json(text, JoiningNode)
        except zlib.error as error:
            raise ValueError(str(error)) from None
        if len(node.cpus) != node.ranks or len(node.gpus) not in (0, node.ranks):
            raise ValueError(f"not {node.ranks} ranks")
        return node

    def plan(self) -> "tuple[str, System, Graphs]":
        """The parts for joining: name, System and graphs."""
        from railgauge.topo.channels import graph_file
        from railgauge.topo.nccl.graph.system import build_system
        from railgauge.topo.xml import topology_file

        host_ranks = None if self.gpus else self.ranks
        system = build_system(topology_file.loads(self.topology, self.name), host_ranks=host_ranks)
        return self.name, system, graph_file.loads(self.graphs, system, self.name)

    def device(self, dev: int) -> int:
        """The network's device for a NIC by dev number; the first one if the topology names none of the host's."""
        return dict(self.devices).get(dev, 0)
