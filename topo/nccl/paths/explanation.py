# SPDX-License-Identifier: Apache-2.0
"""Why a path is what it is: the hop that decides its type, the links that limit it, and how NCCL uses it."""

from dataclasses import dataclass

from railgauge.topo.nccl.graph.model import LOCAL_GB_PER_S, PATH_TYPES, Link, Node, NodeKind, System
from railgauge.topo.nccl.paths.gpudirect import GpuDirect
from railgauge.topo.nccl.paths.overhead import REVERSE_BELOW_SM, in_small_packets
from railgauge.topo.nccl.paths.path_search import step_type
from railgauge.topo.nccl.paths.paths import Path, Paths
from railgauge.topo.nccl.paths.peer_access import PeerAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation of one path.

    `decider` is the first link that makes the type what it is, None if no single one does. `limits` are the links that
    run at the least bandwidth, empty if nothing limits. `wired` is the path by the physical links. `peer` is for two
    GPUs, `sending` and `receiving` (GPUDirect RDMA, by the GPU's view) for a GPU and a NIC; None for other ends. `asked`:
    NVML reported the peer access between GPUs. `small_packets`: Intel CPUs split what a GPU sends, `reverse`: writes
    into an old GPU also load the reverse link.
    """

    source: Node
    target: Node
    path: Path
    wired: Path
    decider: Link | None
    limits: tuple[Link, ...]
    peer: PeerAccess | None
    asked: bool
    sending: GpuDirect | None
    receiving: GpuDirect | None
    small_packets: bool
    reverse: bool

    @property
    def rewritten(self) -> bool:
        """Whether NCCL uses another route or path type than the physical links give."""
        return (self.path.type, self.path.via) != (self.wired.type, self.wired.via)


def explain(system: System, table: Paths, source: str, target: str, *, asked: bool = True) -> Explanation:
    """Explain the path between two ids; KeyError for unknown ids.

    `asked`: whether the pairs denied in `table` are NVML's answer.
    """
    ends = system.node(source), system.node(target)
    path = table.get(source, target)
    gpu = next((end for end in ends if end.kind is NodeKind.GPU), None)
    net = next((end for end in ends if end.kind is NodeKind.NET), None)
    peers = source != target and all(end.kind is NodeKind.GPU for end in ends)
    both = [table.gpu_direct(gpu.id, net.id, sending=way) for way in (True, False)] if gpu and net else [None, None]
    return Explanation(
        source=ends[0],
        target=ends[1],
        path=path,
        wired=table.wired(source, target),
        decider=_decider(system, path),
        limits=_limits(path),
        peer=table.peer_access(source, target) if peers else None,
        asked=asked,
        sending=both[0],
        receiving=both[1],
        small_packets=in_small_packets(system, ends[0], path),
        reverse=ends[0].kind is NodeKind.NET and ends[1].kind is NodeKind.GPU and (ends[1].sm or 0) < REVERSE_BELOW_SM,
    )


def _decider(system: System, path: Path) -> Link | None:
    kind = PATH_TYPES.index(path.type)
    return next((link for link in path.links if _step(system, link) == kind), None)


def _step(system: System, link: Link) -> int:
    return step_type(system.node(link.source).kind, system.node(link.target).kind, link.kind)


def _limits(path: Path) -> tuple[Link, ...]:
    return tuple(link for link in path.links if link.real_gb_per_s == path.real_gb_per_s < LOCAL_GB_PER_S)
