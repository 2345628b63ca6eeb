# SPDX-License-Identifier: Apache-2.0
"""RDMA: devices and ports, GIDs, libibverbs, and what GPUDirect RDMA needs."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern

DUPLICATE_NIC = Card(
    id="duplicate-nic",
    title="Two NICs have one GUID",
    levels=(WARN, UNKNOWN),
    about=(
        "Node GUIDs are unique by manufacture. Where firmware was written with another card's GUID, or two virtual "
        "functions were given the same one, ports stay down or packets go to the other card."
    ),
    effect="on InfiniBand the subnet manager routes to one of them only; NCCL may mistake them for one card",
    remedy="flint -d DEVICE sg (physical cards), or ip link set PF vf N node_guid GUID (virtual functions)",
    sure="cat /sys/class/infiniband/*/node_guid; ibnetdiscover reports duplicate GUIDs",
    passes="every RDMA device has its own node GUID",
    reads=("/sys/class/infiniband/*/node_guid",),
    shows=("NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",),
    shared_with=("rail-unreachable",),
)
IB_PORT_DOWN = Card(
    id="ib-port-down",
    title="An RDMA port is down",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "NCCL uses only ports that are ACTIVE. A port that is down takes its rail out of every ring through it, and a "
        "node with fewer rails than the others slows all of them down."
    ),
    remedy="check cable, optics and switch port; on InfiniBand also the subnet manager (a port in INIT lacks one)",
    sure="ibstat, or cat /sys/class/infiniband/*/ports/*/state; Polling means that the cable or the other end is dead",
    passes="every RDMA port is ACTIVE",
    reads=("/sys/class/infiniband/*/ports/*/state", "/sys/class/infiniband/*/ports/*/phys_state", "NCCL_IB_HCA"),
    shows=(
        "NCCL WARN NET/IB : Got async event : port error",
        "NCCL INFO NET/IB : No device found.",
        "NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",
    ),
    shared_with=("rail-unreachable", "verbs-device-missing"),
    patterns=(
        Pattern(
            r"Got async (?:fatal |error )?event.*port|[Aa]sync event *: *port",
            FAIL,
            "an RDMA port went down during the run",
        ),
    ),
    links=("https://github.com/leptonai/gpud/issues/482", "https://github.com/NVIDIA/nccl/issues/394"),
)
IB_RATE_LOW = Card(
    id="ib-rate-low",
    title="An RDMA port is slower than it should be",
    levels=(WARN, UNKNOWN),
    about=(
        "A link that trains at a lower speed or with one lane works and is not logged; the ring through it, and so the "
        "whole job, runs at its speed."
    ),
    remedy="reseat or replace the cable; check the speed that the switch port is set to",
    sure="ibstat (Rate); mlxlink -d DEVICE; iblinkinfo for the other end",
    passes="all ports of one model have the same rate, and InfiniBand links use all lanes",
    reads=("/sys/class/infiniband/*/ports/*/rate", "/sys/class/infiniband/*/board_id"),
    links=("https://github.com/NVIDIA/dgx-spark-playbooks/issues/103", "https://github.com/NVIDIA/nccl/issues/378"),
)
IB_ERRORS_RISING = Card(
    id="ib-errors-rising",
    title="Error counters of an RDMA port rise",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Symbol errors and link recoveries are caused by cables and optics; timeouts and sequence errors by lost "
        "packets, on RoCE mostly by missing flow control (PFC, ECN, the wrong traffic class). Counters add up since "
        "the last reset, so only their rise shows the present."
    ),
    remedy="symbol errors: cable and optics; timeouts and sequence errors on RoCE: PFC, ECN and NCCL_IB_TC",
    sure="railgauge check -r 2 --only ib-errors-rising while a job runs; mlxlink -d DEVICE -c",
    passes="no error counter rose, or all are 0",
    reads=("/sys/class/infiniband/*/ports/*/counters", "/sys/class/infiniband/*/ports/*/hw_counters"),
    shows=(
        "NCCL WARN NET/IB : Got completion with error 2, opcode 129, len 0, vendor err 136",
        "NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",
        "NCCL WARN NET/IB : Got async event : port error",
    ),
    shared_with=("rail-unreachable", "ib-port-down"),
    patterns=(
        Pattern(
            r"Got completion.*(?:error |status=)(?:IBV_WC_RNR_RETRY_EXC_ERR\()?13\b|RNR_RETRY_EXC",
            FAIL,
            "a NIC's peer had no receive posted (status 13, RNR): the other rank stands still or has ended",
        ),
        Pattern(
            r"Got completion|Unsupported completion status|ibv_poll_cq",
            FAIL,
            "a NIC ended an operation with an error",
            general=1,
        ),
        Pattern(
            r"async (?:fatal |error )?event",
            FAIL,
            "a NIC reported an error of its own (asynchronous event)",
            general=1,
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/426", "https://github.com/deepseek-ai/DeepEP/issues/60"),
)
MTU_MISMATCH = Card(
    id="mtu-mismatch",
    title="MTUs do not match",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "A RoCE port takes the largest RDMA MTU that fits its interface's MTU at that moment. Ends with different ones "
        "fail to connect or drop packets that are too long. 1500 bytes leave 1024, and cost about 5 %. A switch with a "
        "smaller MTU than both ends drops long packets silently: connections are made, and then hang. cluster check "
        "sends long packets between all nodes."
    ),
    remedy=(
        "ip link set NETDEV mtu 9000 (at least 4200) on all nodes and all switch ports between them; then bring the "
        "RDMA device up again"
    ),
    sure="ibv_devinfo -d DEVICE (active_mtu); ip link show NETDEV; ping -M do -s 8972 PEER",
    passes="each RoCE port has the MTU that its interface allows, the same on all ports of one model",
    reads=("ibv_query_port (active_mtu)", "/sys/class/net/*/mtu", "64 KiB sent between nodes (cluster check)"),
    shows=(
        "NCCL WARN Call to ibv_modify_qp failed with error Invalid argument",
        "NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",
    ),
    shared_with=("gid-index-invalid", "rail-unreachable"),
    links=("https://github.com/NVIDIA/nccl/issues/1814", "https://github.com/NVIDIA/nccl/issues/1405"),
)
SOFT_RDMA_PRESENT = Card(
    id="soft-rdma-present",
    title="Software RDMA is present",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "rxe and siw make an RDMA device of any interface, for tests. NCCL cannot tell it from hardware and uses it as "
        "a NIC: slow, without GPUDirect RDMA, and one more than the GPUs have rails. nvidia-smi topo -m fails."
    ),
    remedy="rdma link delete NAME, or NCCL_IB_HCA=^rxe,siw",
    sure="rdma link show; ls -l /sys/class/infiniband",
    passes="every RDMA device is hardware",
    reads=("/sys/class/infiniband/* (where its link leads)",),
    shows=("Failed to run topology matrix", "NCCL INFO NET/IB : Using [0]rxe0:1/RoCE"),
    patterns=(
        Pattern(
            r"Failed to run topology matrix",
            WARN,
            "nvidia-smi fails because a software RDMA device (siw, rxe) is present",
        ),
    ),
    links=("https://github.com/NVIDIA/NVSentinel/issues/1485",),
)
NIC_LOST = Card(
    id="nic-lost",
    title="An RDMA NIC, or a port of one, is lost",
    levels=(FAIL, UNKNOWN),
    about=(
        "A NIC whose driver failed, or that is not found at boot, takes its rail with it, and NCCL uses what is left "
        "without a word. Signs of it: a NIC on PCI without the RDMA device that others of the model have, an RDMA "
        "device whose PCI function is gone, fewer ports than other cards of the model have, a switch with a GPU and "
        "without the NIC of its siblings."
    ),
    effect="one rail less: rings through its GPUs use the NIC of another GPU",
    remedy=(
        "drain the node; dmesg | grep mlx5 says why; load the driver again (modprobe mlx5_ib), restart the node, with "
        "power off if that does not help; reseat or replace the card"
    ),
    sure="lspci -d 15b3:; ls -l /sys/class/infiniband; devlink dev show; rdma system (network namespaces)",
    passes="every NIC has the RDMA devices and ports that others of its model have",
    reads=(
        "/sys/bus/pci/devices",
        "/sys/class/infiniband/*/device",
        "/sys/class/infiniband/*/ports",
        "/sys/module/ib_core/parameters/netns_mode",
    ),
)
VERBS_DEVICE_MISSING = Card(
    id="verbs-device-missing",
    title="An RDMA device cannot be opened",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "/sys/class/infiniband shows the host's devices in any container. To use one a process needs its node "
        "/dev/infiniband/uverbsN, the right to open it, and its network namespace. Without, NCCL uses TCP instead, "
        "with one line in its log."
    ),
    remedy=(
        "give the container the devices and rdma-core: docker run --device /dev/infiniband (or an RDMA device plugin); "
        "rdma system set netns shared; leave NCCL_IB_DISABLE unset. Nothing where the nodes have no RDMA NIC"
    ),
    sure="ibv_devinfo in the container; ls -l /dev/infiniband; rdma system",
    passes="each RDMA device has its node in /dev/infiniband, or libibverbs opened it",
    reads=("/sys/class/infiniband", "/sys/class/infiniband_verbs/*/ibdev", "/dev/infiniband", "ibv_open_device"),
    shows=(
        "NCCL INFO NET/IB : No device found.",
        "NCCL WARN NET/IB : Unable to open device mlx5_bond_0",
        "NCCL WARN Call to ibv_modify_qp failed with error No such device",
        "NCCL INFO Using network Socket",
    ),
    patterns=(
        Pattern(
            r"ibv_modify_qp failed.*(?:No such device|\b19\b)|Unable to (?:open|query) (?:device|port)|IB device \S+ "
            r"not found",
            FAIL,
            "an RDMA device is there and cannot be opened or used",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/941", "https://github.com/NVIDIA/nccl/issues/451"),
)
VERBS_PROVIDER_MISSING = Card(
    id="verbs-provider-missing",
    title="libibverbs has no provider for an RDMA device",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "libibverbs loads a library for each kind of device, such as libmlx5-rdmav34.so, named in /etc/libibverbs.d. "
        "An image without it, or with one of another release, finds no device at all, and NCCL uses TCP instead."
    ),
    remedy="install rdma-core (ibverbs-providers, libibverbs1) in the image, as new as the host's drivers",
    sure="ibv_devices in the container; ldconfig -p | grep ibverbs",
    passes="libibverbs lists every RDMA device that has its node in /dev/infiniband",
    reads=("ibv_get_device_list", "/etc/libibverbs.d/*.driver", "/sys/class/infiniband/*/device/driver"),
    shows=(
        "NCCL WARN Failed to open libibverbs.so[.1]",
        "libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so'",
        "NCCL INFO NET/IB : No device found.",
    ),
    shared_with=("verbs-device-missing",),
    patterns=(
        Pattern(
            r"Failed to open libibverbs|libibverbs: Warning: couldn't load driver|ibvwrap.*dlv?sym failed",
            WARN,
            "libibverbs or its driver is not installed: NCCL uses sockets instead",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl-tests/issues/100", "https://github.com/NVIDIA/nccl/issues/1925"),
)
GID_INDEX_INVALID = Card(
    id="gid-index-invalid",
    title="NCCL_IB_GID_INDEX names a GID that cannot work",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Guides name an index, mostly 3. Which GID that is depends on the addresses of the interface and their order, "
        "so it differs between hosts, ports and reboots. NCCL does not check it, and connecting fails."
    ),
    remedy=(
        "unset it with NCCL 2.21 or later, which finds the GID itself (NCCL_IB_ADDR_RANGE picks a network); with older "
        "releases set the index of the RoCE v2 entry with the IPv4 address, and check that both ends can route to it"
    ),
    sure="show_gids; railgauge topo show --view rdma",
    passes="NCCL_IB_GID_INDEX is unset, or names a routable GID on each RoCE port that NCCL uses",
    reads=(
        "NCCL_IB_GID_INDEX",
        "/sys/class/infiniband/*/ports/*/gids",
        "/sys/class/infiniband/*/ports/*/gid_attrs/types",
    ),
    shows=(
        "NCCL WARN Call to ibv_modify_qp failed with error Connection timed out",
        "ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR, "
        "local GID index 3",
        "NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",
    ),
    shared_with=("rail-unreachable",),
    patterns=(
        Pattern(
            r"ibv_modify_qp failed.*(?:timed out|\b110\b)",
            FAIL,
            "two NICs cannot reach each other by the GIDs that were chosen: nothing answers at the peer's address",
        ),
        Pattern(
            r"ibv_modify_qp failed.*(?:Invalid argument|\b22\b)",
            FAIL,
            "a NIC's driver refuses the parameters of a connection: a GID index that the port does not have, or ports "
            "that do not fit together (one InfiniBand, one RoCE); whether the peer is reachable was not tried",
        ),
        Pattern(
            r"ibv_modify_qp failed.*(?:not supported|\b95\b)",
            FAIL,
            "a NIC's driver does not support a connection by the GID that was chosen (RoCE version, VLAN or software "
            "device)",
        ),
        Pattern(
            r"ibv_modify_qp failed(?!.*(?:No such device|unreachable|No route|timed out|Invalid argument|not supported"
            r"|\b(?:19|22|95|101|110|113)\b))",
            FAIL,
            "two NICs cannot connect by the GIDs that were chosen",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/769", "https://github.com/NVIDIA/nccl/issues/426"),
)
GID_TABLE_HOLES = Card(
    id="gid-table-holes",
    title="A GID table has holes",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "In a pod the table also has entries of other network namespaces, which read as empty; addresses that came and "
        "went leave holes too. NCCL since 2.21 skips them. Older releases, and NCCL_IB_GID_INDEX, use one index for "
        "all ports, which does not fit where their tables differ."
    ),
    remedy="leave NCCL_IB_GID_INDEX unset and use NCCL 2.21 or later, or name the network with NCCL_IB_ADDR_RANGE",
    sure="show_gids in the container and on the host",
    passes="the GID table of each RoCE port has no hole before the entry that NCCL uses",
    reads=("/sys/class/infiniband/*/ports/*/gids", "/sys/class/infiniband/*/ports/*/gid_attrs/types"),
    shows=(
        "NCCL WARN NET/IB: read failed in ncclIbRoceGetVersionNum: Invalid argument",
        "NCCL WARN Call to ibv_modify_qp failed with error No such device",
        "NCCL WARN Call to ibv_modify_qp failed with error Invalid argument",
    ),
    shared_with=("gid-index-invalid", "verbs-device-missing"),
    patterns=(
        Pattern(
            r"read failed in \w*(?:RoceGetVersionNum|GetGid\w*)|Unable to query GID|ibv_query_gid failed",
            WARN,
            "an entry of a GID table cannot be read, as in a pod whose table has holes",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/1131", "https://github.com/NVIDIA/nccl/issues/2157"),
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
            r"|ibv_reg_mr\w* failed.*Bad address",
            FAIL,
            "a NIC cannot register GPU memory: nvidia_peermem is not loaded",
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
IB_HCA_PREFIX = Card(
    id="ib-hca-prefix",
    title="An entry of NCCL_IB_HCA names more devices than intended",
    levels=(WARN, UNKNOWN),
    about=(
        "Entries are prefixes: mlx5_1 names mlx5_1 and mlx5_10 to mlx5_19. Storage or management cards take part, or "
        "the rails of two GPUs are counted twice."
    ),
    remedy="NCCL_IB_HCA==mlx5_0,mlx5_1: = in front of the list means whole names (^= to leave them out)",
    sure="railgauge env",
    passes="no entry of NCCL_IB_HCA is the name of one device and a prefix of another's",
    reads=("NCCL_IB_HCA", "/sys/class/infiniband"),
    hints=("NCCL INFO NET/IB : Using [0]mlx5_1:1/IB [1]mlx5_10:1/IB",),
    links=("https://github.com/NVIDIA/nccl/pull/236", "https://github.com/NVIDIA/nccl-tests/issues/150"),
)
IB_HCA_NOMATCH = Card(
    id="ib-hca-nomatch",
    title="NCCL_IB_HCA names ports that do not exist",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Names differ between machines and drivers (mlx5_0, rocep1s0f0, ibp24s0). Where the list matches no device "
        "NCCL uses TCP without a warning; where one entry matches none that rail is lost. = and ^ are allowed once, in "
        "front of the whole list: a,^b looks for a device named ^b."
    ),
    remedy="name devices that /sys/class/infiniband lists, the same on every node",
    sure="railgauge env; ibv_devices",
    passes="NCCL_IB_HCA is unset, or each of its entries names a port",
    reads=("NCCL_IB_HCA", "/sys/class/infiniband"),
    shows=("NCCL INFO NET/IB : No device found.", "NCCL INFO Using network Socket"),
    shared_with=("verbs-device-missing",),
    links=("https://github.com/NVIDIA/nccl/issues/952", "https://github.com/NVIDIA/nccl-tests/issues/150"),
)
