# SPDX-License-Identifier: Apache-2.0
"""PCIe: links, switches and what the root complex does with traffic between devices."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern
from railgauge.topo.findings.completions import ended_with

PCIE_LINK_DEGRADED = Card(
    id="pcie-link-degraded",
    title="A PCIe link is narrower or slower than it should be",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "A link that trains with fewer lanes after a reboot, or a card in a narrower slot than its siblings, halves "
        "the bandwidth through it. NCCL does not log that; drivers of some NICs write a line to the kernel's log when "
        "they start. A lower generation counts only where most devices of the same model run faster: many devices "
        "lower theirs when idle. FAIL: half of what the link should carry, or less."
    ),
    remedy=(
        "reseat the card; check the slot's width and bifurcation in BIOS and manual; afterwards renew a topology file "
        "that was dumped before"
    ),
    sure="compare LnkSta with LnkCap in sudo lspci -vv, for the card and for the port above it, under load",
    passes="every link of a GPU, an RDMA NIC and the switches above them runs with all lanes",
    reads=("/sys/bus/pci/devices/*/current_link_width", "/sys/bus/pci/devices/*/max_link_width", "NCCL_TOPO_FILE"),
    hints=(
        "mlx5_core 0000:18:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x8 link at "
        "0000:17:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)",
        "NCCL INFO + PCI[12.0] - NIC/18000",
    ),
    links=("https://github.com/NVIDIA/nccl/issues/2397", "https://github.com/NVIDIA/nccl/issues/428"),
)
ACS_ENABLED = Card(
    id="acs-enabled",
    title="ACS redirects traffic between GPUs and NICs",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "With Access Control Services on the ports of a PCIe switch, traffic from one device to another is sent up to "
        "the root complex. GPU to GPU and GPU to NIC then share the switch's uplink, or hang, while nvidia-smi topo "
        "-p2p still says OK. Virtual machines need ACS; there ATS on the NIC keeps the direct path."
    ),
    effect="GPUDirect below this switch goes up to the root complex and back, or hangs",
    remedy=(
        "turn ACS off in the BIOS, or after each boot as root: setpci -s PORT ECAP_ACS+0x6.w=0000; in a VM enable ATS "
        "on the NIC instead"
    ),
    sure="sudo lspci -vvv | grep ACSCtl: SrcValid+ or ReqRedir+ on a switch port; then run p2pBandwidthLatencyTest",
    passes="no switch port between GPUs and NICs redirects traffic",
    reads=("/sys/bus/pci/devices/*/config (root)", "/sys/kernel/iommu_groups"),
    shows=(
        "NCCL WARN NET/IB: Got completion from peer 10.0.0.4<50396> with status=IBV_WC_LOC_PROT_ERR(4) opcode=0",
        "NCCL WARN NET/IB : Got completion with error 4, opcode 0, len 32694, vendor err 81",
    ),
    patterns=(
        Pattern(
            ended_with(4),
            FAIL,
            "a NIC was not allowed to access memory (status 4, local protection error), often because of PCIe ACS",
        ),
    ),
    links=(
        "https://github.com/NVIDIA/nccl/issues/606",
        "https://github.com/NVIDIA/nccl/issues/2079",
        "https://github.com/NVIDIA/nccl/issues/631",
    ),
)
IOMMU_TRANSLATING = Card(
    id="iommu-translating",
    title="The IOMMU translates DMA of GPUs and NICs",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "With an IOMMU group of type DMA or DMA-FQ every address that a device sends is translated at the root "
        "complex, so traffic between devices takes a detour to it. On some boards such writes get lost while every "
        "query says that P2P works. On Grace, where GPUs have translation services, it costs little."
    ),
    effect="peer-to-peer traffic goes through the root complex, slower; writes may be lost or hang",
    remedy="boot with iommu=pt (intel_iommu=on iommu=pt on Intel), or turn the IOMMU off in the BIOS",
    sure="cat /sys/kernel/iommu_groups/*/type; then make a P2P copy and compare the data",
    passes="this kernel translates no DMA of GPUs and NICs",
    reads=("/sys/kernel/iommu_groups/*/type",),
    shows=('NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!',),
    patterns=(
        Pattern(
            r'Missing "(?:iommu=pt|amd_iommu=on|intel_iommu=on)',
            WARN,
            "the kernel was not started with iommu=pt and amd_iommu=on: the IOMMU may translate DMA between devices",
        ),
        Pattern(
            r"DMAR: .*(?:fault addr|PTE (?:Read|Write) access)|IO_PAGE_FAULT",
            WARN,
            "the IOMMU stopped a device that used an address which is not mapped for it: traffic between devices that "
            "it translates, or a driver's fault",
        ),
    ),
    links=(
        "https://github.com/NVIDIA/nccl/issues/257",
        "https://github.com/pytorch/pytorch/issues/84803",
        "https://github.com/ROCm/rccl/issues/1129",
    ),
)
RELAXED_ORDERING_OFF = Card(
    id="relaxed-ordering-off",
    title="Relaxed ordering is off for a NIC",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "A NIC that marks its writes as relaxed does not have to wait for earlier ones on the path to memory. Without "
        "it GPUDirect RDMA in virtual machines and on many two-socket boards reaches a fraction of the line rate."
    ),
    remedy=(
        "leave NCCL_IB_PCI_RELAXED_ORDERING unset; on the NIC setpci -s NIC CAP_EXP+0x8.w=0010:0010 or the BIOS, and "
        "PCI_WR_ORDERING=force_relax(1) in the firmware of NVIDIA NICs"
    ),
    sure="'NET/IB : Using ...' ends with [RO] where it is on; sudo lspci -vvv -s NIC | grep RlxdOrd",
    passes="relaxed ordering is allowed on every RDMA NIC, and no setting forbids it",
    reads=("/sys/bus/pci/devices/*/config (root)", "NCCL_IB_PCI_RELAXED_ORDERING"),
    hints=("NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE ; OOB eth0:10.0.0.1<0>",),
    links=(
        "https://github.com/NVIDIA/nccl/issues/1205",
        "https://github.com/NVIDIA/nccl-tests/issues/380",
        "https://github.com/NVIDIA/nccl/issues/1464",
    ),
)
