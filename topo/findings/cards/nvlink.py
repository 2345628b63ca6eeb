# SPDX-License-Identifier: Apache-2.0
"""NVLink: links between GPUs, NVSwitches and their fabric, within a node and between nodes."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern

NVLINK_SELF_TARGET = Card(
    id="nvlink-self-target",
    title="An NVLink ends at the GPU it starts from",
    levels=(FAIL, UNKNOWN),
    about=(
        "NCCL connects a GPU to the bus id that an <nvlink> names. Where that is the GPU itself, as in files made for "
        "virtual machines that hide the NVSwitches, its NVLinks lead nowhere and its peers are reached over PCIe."
    ),
    remedy="name the GPU or NVSwitch at the other end (nvidia-smi nvlink -R), or leave <nvlink> out: NCCL asks NVML",
    sure="nvidia-smi nvlink -R; railgauge topo lint FILE",
    passes="no NVLink ends at the GPU it starts from",
    reads=("NCCL_TOPO_FILE", "nvmlDeviceGetNvLinkRemotePciInfo"),
    hints=("NCCL INFO + NVL[48.0] - GPU/1B000 (a GPU that names itself)",),
    links=("https://github.com/NVIDIA/nccl/issues/573",),
)
NVLINK_MISSING = Card(
    id="nvlink-missing",
    title="A GPU has fewer NVLinks than its siblings, or than NVML lists",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "One NVLink that is down takes its share of bandwidth from every ring; a GPU without any moves the whole "
        "communicator to PCIe, and NCCL logs neither. The number is compared with the GPU's siblings, since boards "
        "differ by design. FAIL: a GPU without any NVLink."
    ),
    remedy=(
        "reset the GPU (nvidia-smi -r), reseat bridge or board; links that stay down need repair; afterwards "
        "renew a topology file that was dumped before"
    ),
    sure="nvidia-smi nvlink -s and nvidia-smi nvlink -e on that GPU; nvidia-smi topo -m shows PHB or SYS, not NV18",
    passes="every GPU has as many NVLinks as its siblings, and as NVML lists",
    reads=("nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkRemotePciInfo", "NCCL_TOPO_FILE"),
    shows=(
        "|CCL_WARN| host: n22, rank: 0, local_port_id: { 65559 0 1 }, port issue: { status: failed, details: training "
        "timeout }",
    ),
    hints=("NCCL INFO 2 coll channels, 2 collnet channels, 0 nvls channels, 4 p2p channels (others have more)",),
    links=(
        "https://github.com/NVIDIA/DCGM/issues/198",
        "https://github.com/NVIDIA/nccl/issues/557",
        "https://github.com/Azure/azurehpc-health-checks/issues/162",
    ),
    patterns=(
        Pattern(
            r"local_port_id: .*port issue: \{ status: ",
            WARN,
            "a link between Intel's GPUs (Xe Link) is not up: data between the two goes through the host",
        ),
    ),
)
FABRIC_NOT_READY = Card(
    id="fabric-not-ready",
    title="The NVLink fabric is not ready",
    levels=(WARN, FAIL, UNKNOWN),
    about=(
        "On boards with NVSwitches the fabric manager has to train the links and register each GPU. Until then CUDA "
        "does not start there, or GPUs start without the fabric. A fabric manager of another release than the driver "
        "stops at once."
    ),
    effect="CUDA fails with 802 (system not yet initialized), or NVLink and NVLS stay unused",
    remedy=(
        "start nvidia-fabricmanager of exactly the driver's release; reset the GPUs where the state stays in progress; "
        "NCCL_NVLS_ENABLE=0 as a test"
    ),
    sure="nvidia-smi -q | grep -A2 Fabric; systemctl status nvidia-fabricmanager",
    passes="every GPU on NVSwitches is registered in the fabric",
    reads=("nvmlDeviceGetGpuFabricInfoV", "cuInit", "nv-fabricmanager --version", "/proc/driver/nvidia/version"),
    shows=(
        "CUDA failure 802 'system not yet initialized'",
        "fabric manager NVIDIA GPU driver interface version 530.30.02 don't match with driver version 530.41.03.",
        "transport/nvls.cc:244 NCCL WARN Cuda failure 1 'invalid argument'",
        "NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401",
    ),
    patterns=(
        Pattern(
            r"transport/nvls|[Ff]ailed .{0,80}(?:NVLink SHARP|Multicast memory)|system not yet initialized"
            r"|[Cc]uda failure 802\b|fabric manager .*don't match with driver|in the multicast team request",
            FAIL,
            "the NVLink fabric is not ready or has no multicast groups left",
        ),
        Pattern(
            r"NV_WARN_NOTHING_TO_DO|query NVSwitch device information .*failed",
            WARN,
            "the fabric manager finds no NVSwitch: a machine without NVSwitches needs no fabric manager (disable the "
            "service); on one with them, the driver does not see them",
        ),
    ),
    links=(
        "https://github.com/NVIDIA/nccl-tests/issues/264",
        "https://github.com/NVIDIA/nccl/issues/1488",
        "https://github.com/NVIDIA/nccl/issues/1562",
        "https://github.com/NVIDIA/gpu-operator/issues/544",
    ),
)
IMEX_MISSING = Card(
    id="imex-missing",
    title="No IMEX channel for NVLink between nodes",
    levels=(WARN, FAIL, UNKNOWN),
    about=(
        "In a rack whose GPUs share one NVLink fabric, nodes import each other's memory through an IMEX channel: a "
        "device node that the nvidia-imex service and, in a container, its runtime have to provide."
    ),
    effect="between nodes NCCL uses the NICs instead of NVLink (MNNVL 0)",
    remedy=(
        "start nvidia-imex with all nodes in nodes_config.cfg; give the container the channel's device "
        "(/dev/nvidia-caps-imex-channels)"
    ),
    sure="ls /dev/nvidia-caps-imex-channels; nvidia-imex-ctl -N shows every node READY",
    passes="there is an IMEX channel",
    reads=("/dev/nvidia-caps-imex-channels", "/proc/devices", "nvmlDeviceGetGpuFabricInfoV"),
    shows=("NCCL WARN Cuda failure 800 'operation not permitted'",),
    hints=("NCCL INFO comm 0x7f10 rank 0 nRanks 72 nNodes 18 localRanks 4 localRank 0 MNNVL 0",),
    patterns=(
        Pattern(
            r"CUDA_ERROR_NOT_PERMITTED|Cuda failure 800\b|IMEX .{0,80}(?:not |no |fail|missing|unavail)"
            r"|(?:[Ff]ail|[Nn]o ).{0,80}IMEX"
            r"|\bC(?:u|UDA) (?:failure|error): .?800\b"
            r"|cuMem(?:Create|ExportTo|ImportFrom)\w*.{0,80}(?:\b800\b|not permitted)",
            FAIL,
            "memory cannot be shared between nodes over NVLink",
        ),
        Pattern(
            r"\bC(?:u|UDA) (?:failure|error): .?operation not permitted(?! when)",
            FAIL,
            "the driver does not permit a call of CUDA: mostly memory is shared over NVLink without an IMEX channel",
            general=1,
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/1483", "https://github.com/NVIDIA/nvbandwidth/issues/39"),
)
