# SPDX-License-Identifier: Apache-2.0
"""GPUDirect RDMA between GPUs and NICs: what it needs, what NCCL decides, and what bytes show."""

from railgauge.topo.findings.card import FAIL, INFO, PASS, UNKNOWN, WARN, Card, Pattern

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
    patterns=(
        Pattern(
            r"nvidia_p2p_get_pages\b.*fail",
            FAIL,
            "NVIDIA's driver gives a kernel module (gdrdrv, a peer-memory module) no GPU memory: a GPU or an "
            "allocation that cannot be shared (GeForce, managed memory), or a module that was built for another driver",
        ),
    ),
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
PEERMEM_MISSING = Card(
    id="peermem-missing",
    title="nvidia_peermem is not loaded",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "GPUDirect RDMA needs a peer-memory module or DMA-BUF. The module is lost by a reboot or a driver update, and "
        "does not load when it was built against other RDMA modules than those that run. Without either, all data goes "
        "through host memory, at half the bandwidth or less, and NCCL says so in one line only."
    ),
    remedy=(
        "modprobe nvidia_peermem, and list it in /etc/modules-load.d; on 'Invalid argument' install NVIDIA's driver "
        "again after the RDMA stack; or use the open kernel modules, whose DMA-BUF needs no module"
    ),
    sure="lsmod | grep nvidia_peermem; modprobe nvidia_peermem; dmesg; railgauge gdr check",
    passes="a peer-memory module is loaded",
    reads=(
        "/sys/kernel/mm/memory_peers/nv_mem/version",
        "/sys/kernel/mm/memory_peers/nv_mem_nc/version",
        "/sys/module/nvidia_peermem/version",
    ),
    shows=(
        "NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'",
        "Channel 00/0 : 1[1] -> 0[0] [send] via NET/IB/0",
        "modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument",
    ),
    patterns=(
        Pattern(
            r"could not insert 'nvidia_peermem'|allocate MR /|ERRNO: Bad address|Couldn't allocate MR$"
            r"|ibv_(?:exp_)?reg_mr\w*(?:\(.{0,200}\))? failed.*Bad address|nvidia_peermem detected. Skipping"
            r"|nv_peer_mem, or nvidia_peermem|without nvidia[-_]peermem|egister memory\b.*Bad address"
            r"|failed to register address \S+ mem_type bit 0x[248]|RegisterRdmaMemoryRegion failed",
            FAIL,
            "a NIC cannot register GPU memory: nvidia_peermem (of AMD's GPUs amdgpu_peermem) is not loaded, or the "
            "memory is of a kind that it does not take (expandable segments, managed, of a GeForce)",
        ),
        Pattern(
            r"nv(?:idia_peermem|_peer_mem): (?:version magic|Unknown symbol|disagrees about version)",
            FAIL,
            "nvidia_peermem does not load: it was built for another kernel, or other RDMA modules than those that run",
        ),
        Pattern(
            r"ibv_(?:exp_)?reg_mr\w*(?:\(.{0,200}\))? failed.*Invalid argument",
            FAIL,
            "a NIC refuses to register memory as invalid: mostly a GPU's, for which nvidia_peermem is not loaded or "
            "was built against other RDMA modules than those that run, and DMA-BUF is not used",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/1537", "https://github.com/NVIDIA/gpu-operator/issues/2868"),
)
DMABUF_UNSUPPORTED = Card(
    id="dmabuf-unsupported",
    title="DMA-BUF does not work",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "DMA-BUF needs Linux 5.12, NVIDIA's open kernel modules, CUDA 11.7, a GPU that exports its memory, and an RDMA "
        "driver and libibverbs (34 or later) that register it. Containers often bring an old libibverbs."
    ),
    remedy=(
        "use NVIDIA's open kernel modules and rdma-core 34 or later, or nvidia_peermem; NCCL_DMABUF_ENABLE=0 as a test"
    ),
    sure="railgauge topo show --view rdma; perftest's ib_write_bw --use_cuda=0 --use_cuda_dmabuf",
    passes="the kernel, the driver, the GPUs and the NICs support DMA-BUF",
    reads=(
        "/proc/sys/kernel/osrelease",
        "/proc/driver/nvidia/version (Open Kernel Module)",
        "CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED",
        "ibv_reg_dmabuf_mr with a bad descriptor",
    ),
    shows=(
        "NCCL WARN Call to ibv_reg_dmabuf_mr failed with error Operation not supported",
        "Couldn't allocate MR with error=93",
    ),
    patterns=(
        Pattern(
            r"ibv_reg_dmabuf_mr failed|allocate MR with error=93", FAIL, "DMA-BUF registration of GPU memory fails"
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/778", "https://github.com/linux-rdma/perftest/issues/280"),
)
