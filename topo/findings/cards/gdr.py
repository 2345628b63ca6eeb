# SPDX-License-Identifier: Apache-2.0
"""GPUDirect RDMA between GPUs and NICs: what NCCL decides, and what bytes show."""

from railgauge.topo.findings.card import FAIL, INFO, PASS, UNKNOWN, WARN, Card

GPU_DIRECT_RDMA = Card(
    id="gpu-direct-rdma",
    title="GPUDirect RDMA between a GPU and a NIC",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "NCCL lets a NIC read and write a GPU's memory where five conditions hold, each direction by itself: the NIC "
        "can (a peer-memory module, or DMA-BUF), the GPU can, reading is allowed (NCCL_NET_GDR_READ; before sm 80 only "
        "with NVLink), and the two are near enough (PXB, or P2C on chip-to-chip links, unless NCCL_NET_GDR_LEVEL sets "
        "another limit). NCCL reports which condition fails in TRACE builds only. A machine whose NICs are all on the "
        "other side of the root complex does without it by design."
    ),
    remedy=(
        "NIC: modprobe nvidia_peermem, or NVIDIA's open kernel modules with rdma-core 34 (DMA-BUF, NCCL_DMABUF_ENABLE "
        "unset); distance: leave NCCL_NET_GDR_LEVEL unset and use a NIC below the GPU's own PCIe switch, or set it to "
        "the path type shown and measure; reading: leave NCCL_NET_GDR_READ unset (1 for GPUs before sm 80)"
    ),
    sure="railgauge gdr check; NCCL_DEBUG=INFO: /GDRDMA after NET/IB; perftest's ib_write_bw --use_cuda=0",
    passes="GPUDirect RDMA would be used in both directions",
    reads=(
        "paths between GPUs and NICs",
        "the peer-memory modules",
        "CUDA and libibverbs on DMA-BUF",
        "NCCL_NET_GDR_*",
    ),
    shows=(
        "Channel 00/0 : 1[1] -> 8[0] [send] via NET/IB/0",
        "NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'",
    ),
    shared_with=("peermem-missing",),
    hints=("Channel 00/0 : 1[1] -> 8[0] [send] via NET/IB/0/GDRDMA (it is used)",),
    links=("https://github.com/NVIDIA/nccl/issues/897", "https://github.com/NVIDIA/nccl/issues/2345"),
)
GDR_TRANSFER = Card(
    id="gdr-transfer",
    title="Bytes moved between a GPU and a NIC by GPUDirect RDMA, and compared",
    levels=(PASS, INFO, FAIL, UNKNOWN),
    about=(
        "railgauge gdr check lets the NIC write into the GPU's memory and send from it, and compares every byte. It "
        "fails where the memory cannot be registered with the NIC, or where bytes do not arrive as sent."
    ),
    remedy=(
        "not registered: modprobe nvidia_peermem, or NVIDIA's open kernel modules with Linux 5.12 and rdma-core 34 "
        "(railgauge explain peermem-missing); wrong bytes or none: ACS off between them and the IOMMU to passthrough "
        "(railgauge explain acs-enabled, iommu-translating); until then NCCL_NET_GDR_LEVEL=LOC keeps jobs from using it"
    ),
    sure="railgauge gdr check; perftest's ib_write_bw --use_cuda=0",
)
