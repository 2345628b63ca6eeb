# SPDX-License-Identifier: Apache-2.0
"""RDMA devices: those that are lost, doubled, emulated or not named, and what libibverbs needs."""

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
        Pattern(
            r"Could not find real path of \S+ \(/sys/class/infiniband",
            WARN,
            "NCCL uses an RDMA device that is no PCI device: software RDMA (rxe, siw), or one of a VM",
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
        "device whose PCI function or whose files are gone, fewer ports than other cards of the model have, a switch "
        "with a GPU and without the NIC of its siblings."
    ),
    effect="one rail less: rings through its GPUs use the NIC of another GPU",
    remedy=(
        "drain the node; dmesg | grep -e mlx5 -e bnxt -e efa says why; load the RDMA driver again (modprobe mlx5_ib, "
        "bnxt_re or efa), restart the node, with power off if that does not help; reseat or replace the card"
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
            r"\blib wrapper not initialized",
            INFO,
            "NCCL asks for RDMA without libibverbs, as on hosts without RDMA NICs; it goes on over TCP",
        ),
        Pattern(
            r"ibv_modify_qp failed.*(?:No such device|\b19\b)",
            FAIL,
            "a NIC has no GID in this network namespace at the index that was chosen: NCCL_IB_GID_INDEX names an "
            "entry that is empty here, or the device's interface is not in the container",
        ),
        Pattern(
            r"Unable to (?:open|query) (?:device|port)|Failed to open device \S+ on port|No available RNIC"
            r"|IB device \S+ not found"
            r"|ibv_open_device\b(?!.*Cannot allocate).*fail",
            FAIL,
            "an RDMA device is there and cannot be opened or used",
        ),
        Pattern(
            r"Did not detect devices|^ *0 HCAs found|[Uu]nable to find the Infiniband/RoCE device",
            FAIL,
            "a program finds no RDMA device: the container is not given /dev/infiniband, its libibverbs is older than "
            "the host's modules, or no driver runs the NIC",
            follows=True,
        ),
        Pattern(
            r"Failed to get IB devices list|^(?:.*: )?No IB devices found|sys files not found \(/sys/class/infiniband",
            FAIL,
            "there is no list of RDMA devices: their kernel modules (ib_uverbs, mlx5_ib) are not loaded, or the "
            "container has no /dev/infiniband",
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
            r"Failed to open libibverbs|ibvwrap.*dlv?sym failed",
            WARN,
            "libibverbs or its driver is not installed: NCCL uses sockets instead",
        ),
        Pattern(
            r"libibverbs: Warning: couldn't load driver|no userspace device-specific driver found",
            WARN,
            "libibverbs lacks the driver of one kind of NIC: where the host has no other, NCCL uses sockets instead",
        ),
        Pattern(
            r"[Dd]river \w+ does not support the kernel ABI",
            FAIL,
            "libibverbs' driver of a device does not speak with the kernel's: it is of another release than the host's "
            "module (that of the NIC's vendor, or of another rdma-core)",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl-tests/issues/100", "https://github.com/NVIDIA/nccl/issues/1925"),
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
