# SPDX-License-Identifier: Apache-2.0
"""NCCL's decisions on P2P and GPUDirect RDMA in words: yes or no, and the rule or setting that decides."""

from railgauge.topo.nccl.paths.gpudirect import GdrCondition, GpuDirect
from railgauge.topo.nccl.paths.peer_access import PeerAccess, PeerRule

GDR_FAILED = {
    GdrCondition.NIC: "the NIC does not support it: a socket, or neither a peer-memory module nor DMA-BUF",
    GdrCondition.GPU: "the GPU does not support it",
    GdrCondition.READ_DISABLED: "NCCL_NET_GDR_READ=0",
    GdrCondition.OLD_GPU: "before sm 80 only with NVLink to another GPU (NCCL_NET_GDR_READ=1 overrides)",
}


def peer_text(peer: PeerAccess, *, asked: bool = True) -> str:
    """Whether P2P is used, and why; `asked`: NVML reported the peer access, which no topology file has."""
    level = f"{peer.level.type} ({peer.level.source})"
    relay = f", over the NVLinks of {peer.relay}" if peer.allowed and peer.relay else ""
    why = {
        PeerRule.NEAR: f"yes: {peer.distance} is within {level}{relay}",
        PeerRule.TOO_FAR: f"no: {peer.distance} is beyond {level}",
        PeerRule.DENIED: "no: NVML denies peer access between the two",
        PeerRule.OTHER_HOST: "no: the GPUs are on two hosts, with no NVLink between them",
    }[peer.rule]
    stops = "; NCCL stops with an error because they have NVLink (NCCL_IGNORE_DISABLED_P2P=1 overrides)"
    unknown = "; unless NVML denies peer access, which is unknown here (--no-p2p assumes so)"
    return why + (stops if peer.stops else "") + (unknown if peer.allowed and not asked else "")


def gdr_text(gdr: GpuDirect) -> str:
    """Whether GPUDirect RDMA is used, and the first condition that fails."""
    level = f"{gdr.level.type} ({gdr.level.source})"
    near = f"; the distance of {gdr.relay} counts, which relays (PXN)" if gdr.relay else ""
    if gdr.failed is GdrCondition.TOO_FAR:
        return f"off: {gdr.distance} is beyond {level}{near}"
    if gdr.failed is not None:
        return f"off: {GDR_FAILED[gdr.failed]}"
    mapping = "; its memory is mapped over PCI, not over the chip-to-chip link" if gdr.pci_mapping else ""
    return f"on: {gdr.distance} is within {level}{near}{mapping}"
