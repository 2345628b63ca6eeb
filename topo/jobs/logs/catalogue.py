# SPDX-License-Identifier: Apache-2.0
"""What NCCL, PyTorch, CUDA and perftest say when something fails, in old and new words, and the finding that it is.

One finding has one id in whichever words it shows: that of the rule that finds its cause on a machine, where there is
one (`railgauge check --only ID`). Sources: NCCL's own sources, 2.4 to 2.30, and the trackers of NCCL, nccl-tests,
PyTorch, vLLM and perftest, where the lines were reported.
"""

import re
from functools import cache
from typing import NamedTuple

from railgauge.topo.findings.finding import Level

FAIL, WARN, INFO = Level.FAIL, Level.WARN, Level.INFO


class Entry(NamedTuple):
    """An error: `pattern` finds it in a line, `meaning` is what it says in plain words, `remedy` what to do.

    common: other programs use the same words, so that only NCCL's own lines count.
    """

    id: str
    level: Level
    pattern: str
    meaning: str
    remedy: str
    common: bool = False


OTHERS = "other-warning"
"""The id of a WARN of NCCL that the catalogue does not have."""
CATALOGUE = (
    Entry(
        "shm-too-small",
        FAIL,
        r"posix_fallocate failed|shared memory segment.*No space left|/dev/shm.*No space left",
        "/dev/shm is full",
        "give the container more (docker --shm-size, a memory emptyDir, --ipc=host), remove leftover /dev/shm/nccl-*",
    ),
    Entry(
        "numa-syscalls-blocked",
        FAIL,
        r"attaching to shared memory segment.*No such file",
        "a rank's shared memory is not visible to another one of the same host: they do not share /dev/shm",
        "start the ranks of a host with one IPC namespace (--ipc=host), or set NCCL_CUMEM_HOST_ENABLE=0",
    ),
    Entry(
        "numa-syscalls-blocked",
        WARN,
        r"cuMem host allocations do not appear to be working",
        "NUMA system calls are blocked: host memory comes from /dev/shm instead of CUDA",
        "allow them (--cap-add SYS_NICE), or set NCCL_CUMEM_HOST_ENABLE=0",
    ),
    Entry(
        "p2p-unsupported",
        FAIL,
        r"[Cc]uda failure (?:217\b|'peer access is not supported)|peer access is not supported between",
        "CUDA gives no peer access between two GPUs",
        "NCCL_CUMEM_HOST_ENABLE=0 where shm.cc says it; otherwise NCCL_P2P_DISABLE=1 shows whether P2P is the cause",
    ),
    Entry(
        "memlock-low",
        FAIL,
        r"ibv_(?:reg_mr\w*|create_cq|create_qp)\b.*Cannot allocate memory",
        "memory cannot be registered with the NIC: the limit on locked memory is too low for the process",
        "memlock unlimited for what starts the ranks: limits.d, LimitMEMLOCK=infinity of slurmd or containerd",
    ),
    Entry(
        "dmabuf-unsupported",
        FAIL,
        r"ibv_reg_dmabuf_mr failed|allocate MR with error=93",
        "DMA-BUF registration of GPU memory fails",
        "open GPU kernel modules and a recent kernel and rdma-core, or nvidia_peermem; NCCL_DMABUF_ENABLE=0 as a test",
    ),
    Entry(
        "peermem-missing",
        FAIL,
        r"could not insert 'nvidia_peermem'|allocate MR /|ERRNO: Bad address|Couldn't allocate MR$",
        "a NIC cannot register GPU memory: nvidia_peermem is not loaded",
        "modprobe nvidia_peermem, built against the RDMA stack that is in use",
    ),
    Entry(
        "verbs-device-missing",
        FAIL,
        r"ibv_modify_qp failed.*No such device|Unable to open device",
        "an RDMA device is there and cannot be opened or used",
        "pass /dev/infiniband into the container; check the network namespace mode (rdma system)",
    ),
    Entry(
        "gid-index-invalid",
        FAIL,
        r"ibv_modify_qp failed",
        "two NICs cannot reach each other by the GIDs that were chosen",
        "leave NCCL_IB_GID_INDEX unset since 2.21; check that both GIDs are RoCE v2 in one routed network",
    ),
    Entry(
        "verbs-provider-missing",
        WARN,
        r"Failed to open libibverbs|libibverbs: Warning: couldn't load driver",
        "libibverbs or its driver is not installed: NCCL falls back to sockets",
        "install rdma-core (libibverbs1, ibverbs-providers) in the image",
    ),
    Entry(
        "acs-enabled",
        FAIL,
        r"Got completion.*(?:error 4\b|LOC_PROT_ERR)",
        "a NIC was not allowed to reach memory (local protection error): PCIe ACS between GPU and NIC is a usual cause",
        "turn ACS off on the bridges between GPUs and NICs (root), or enable ATS in a virtual machine",
    ),
    Entry(
        "rail-unreachable",
        FAIL,
        r"Got completion.*(?:error 12\b|RETRY_EXC_ERR|error 5\b|WR_FLUSH)",
        "a NIC's messages were not acknowledged: its peer is not reachable, or packets are lost",
        "check route, VLAN and MTU between the two GIDs, the switch's flow control and the port's error counters; "
        "gid-index-invalid, mtu-mismatch and ib-errors-rising look at these",
    ),
    Entry(
        "ib-errors-rising",
        FAIL,
        r"Got completion",
        "a NIC ended an operation with an error",
        "compare the port's error counters before and after",
    ),
    Entry(
        "ib-port-down",
        FAIL,
        r"Got async (?:fatal )?event.*port|[Aa]sync event *: *port",
        "an RDMA port went down during the run",
        "check cable, optics and the switch's port",
    ),
    Entry(
        "socket-ifname-nomatch",
        FAIL,
        r"no (?:socket )?interface found|Socket creation failed",
        "NCCL finds no interface to meet the other ranks by",
        "NCCL_SOCKET_IFNAME=NAME of an interface that is up and has an address on every node",
    ),
    Entry(
        "nofile-low",
        FAIL,
        r"Too many open files",
        "the limit on open files is too low",
        "raise the soft limit (ulimit -n) of what starts the ranks",
        common=True,
    ),
    Entry(
        "ras-port-taken",
        INFO,
        r"(?:ras/.*|bind failed: |RAS failed.*)(?:Address already in use|listening socket)",
        "another job's RAS listens on the port already: harmless",
        "NCCL_RAS_ADDR=localhost:OTHER_PORT where ncclras is wanted for this job",
    ),
    Entry(
        "peer-lost",
        FAIL,
        r"Connection closed by remote peer|Connection reset by peer",
        "another rank ended or was killed: its own log tells why",
        "look for the rank whose log ends first",
        common=True,
    ),
    Entry(
        "ports-blocked",
        FAIL,
        r"No route to host|Connection refused|Software caused connection abort"
        r"|(?:[Cc]onnect|socket).*(?:timed out|Network is unreachable)",
        "a rank cannot connect to another one's port",
        "open all ports between the nodes (NCCL's are random), and check that both name interfaces of one network",
        common=True,
    ),
    Entry(
        "duplicate-gpu",
        FAIL,
        r"Duplicate GPU detected|Multiple Ranks are using the same GPU",
        "two ranks use one GPU",
        "each process takes the GPU of its local rank; check CUDA_VISIBLE_DEVICES and cloned host ids (NCCL_HOSTID)",
    ),
    Entry(
        "topo-file-stale",
        FAIL,
        r"Could not find real path of",
        "the topology names a device that is not on this machine: the file is of another one",
        "remove NCCL_TOPO_FILE (also from /etc/nccl.conf), or write the file anew on this machine",
    ),
    Entry(
        "topo-file-faulty",
        FAIL,
        r"Attribute \w+ of node \w+ not found|XML Import Channel|too many XML nodes|XML (?:parse|Parse|mismatch)",
        "the topology or graph file is faulty or too large",
        "railgauge topo lint FILE; remove NCCL_TOPO_FILE and NCCL_GRAPH_FILE to have NCCL detect the machine",
    ),
    Entry(
        "vm-flat-topology",
        WARN,
        r"KV Convert to int : could not find value",
        "PCI link speeds cannot be read, as in a virtual machine: NCCL assumes some",
        "give NCCL the instance type's topology file (NCCL_TOPO_FILE)",
    ),
    Entry(
        "nodes-differ",
        FAIL,
        r"collective mismatch|bytes instead of \d+|[Mm]ismatched NCCL version|mixed local Net device counts"
        r"|Message truncated",
        "ranks disagree: other sizes, releases, or numbers of NICs",
        "compare releases, NCCL_* and NICs of the nodes",
    ),
    Entry(
        "imex-missing",
        FAIL,
        r"CUDA_ERROR_NOT_PERMITTED|Cuda failure 800\b|IMEX",
        "memory cannot be shared between nodes over NVLink",
        "start nvidia-imex with all nodes in its list, pass its channels (/dev/nvidia-caps-imex-channels) in",
    ),
    Entry(
        "fabric-not-ready",
        FAIL,
        r"transport/nvls|NVLink SHARP|Multicast memory|system not yet initialized|[Cc]uda failure 802\b",
        "the NVLink fabric is not ready or has no multicast groups left",
        "check the fabric manager (same release as the driver), reset GPUs; NCCL_NVLS_ENABLE=0 as a test",
    ),
    Entry(
        "iommu-translating",
        WARN,
        r'Missing "iommu=pt"',
        "the IOMMU may translate what devices send to each other",
        "iommu=pt on the kernel's command line, or off in the BIOS",
    ),
    Entry(
        "soft-rdma-present",
        WARN,
        r"Failed to run topology matrix",
        "nvidia-smi fails where a software RDMA device (siw, rxe) is there",
        "remove it: rdma link delete NAME",
    ),
    Entry(
        "collective-timeout",
        FAIL,
        r"[Ww]atchdog caught collective operation timeout",
        "a collective did not end in time: a rank is missing in it, or a connection does not move",
        "find the rank that did not take part: railgauge log hang on the flight recorders or the logs of all ranks",
    ),
    Entry(
        "p2p-unsupported",
        FAIL,
        r"No transport found for rank",
        "no transport joins two ranks",
        "look for NCCL_*_DISABLE settings, and for an algorithm that was forced (NCCL_ALGO)",
    ),
    Entry(
        "p2p-unsupported",
        WARN,
        r"P2P is disabled between",
        "the driver gives no peer access between two GPUs that are connected",
        "nvidia-smi topo -p2p r; look for ACS, the IOMMU and a driver that has P2P turned off",
    ),
    Entry(
        "nccl-setting-invalid",
        WARN,
        r"Invalid value .* for NCCL_\w+",
        "NCCL does not understand the value of a setting and takes its default",
        "numbers only: on and true are none; no blanks in conf files",
    ),
    Entry(
        "driver-mismatch",
        FAIL,
        r"driver version is insufficient|Driver/library version mismatch|[Cc]uda failure (?:35|803|804)\b",
        "the driver is too old for this CUDA, or is not the one that is loaded",
        "update the driver, or take a CUDA that it supports",
    ),
)
_PATTERNS = tuple((re.compile(entry.pattern), entry) for entry in CATALOGUE)


@cache
def _words() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{entry.pattern})" for entry in CATALOGUE))


def entry_of(text: str, level: str) -> Entry | None:
    """The first entry that a message of NCCL's `level` ("" for another program's) is; None for none.

    At INFO NCCL tells of tries that it repeats: only what it lives with counts there.
    """
    if not _words().search(text):
        return None
    entry = next(entry for pattern, entry in _PATTERNS if pattern.search(text))
    passes = entry.level is FAIL if level == "INFO" else entry.common and not level
    return None if passes else entry
