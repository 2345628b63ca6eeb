# SPDX-License-Identifier: Apache-2.0
"""Shared memory and the limits of a process."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern

SHM_TOO_SMALL = Card(
    id="shm-too-small",
    title="/dev/shm is too small",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Ranks of one host without P2P exchange data through segments in /dev/shm. Containers get 64 MiB of it unless "
        "they ask for more, and the job fails at its start or, once pages are used, with a bus error."
    ),
    remedy=(
        "give the container more: docker run --shm-size=8g or --ipc=host, in a pod an emptyDir with medium: Memory at "
        "/dev/shm; remove leftover /dev/shm/nccl-*"
    ),
    sure="df -h /dev/shm inside the container",
    passes="/dev/shm has room for the rings of this machine's GPUs",
    reads=("statvfs(/dev/shm)", "which GPUs have P2P"),
    shows=(
        "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-WU88OE (size 9637888), error: No space "
        "left on device (28)",
        "NCCL WARN Call to posix_fallocate failed : No space left on device",
        "NCCL WARN Error: failed to extend /dev/shm/nccl-fjwOOB to 5967876 bytes",
        "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-KWfVyt (size 5967872)",
        "Signal: Bus error (7)",
    ),
    patterns=(
        Pattern(
            r"posix_fallocate failed|(?:shared memory|/dev/shm|shm|</torch_).*No space left"
            r"|failed to extend|(?i:not enough (?:memory|space|room)\b.*/dev/shm)"
            r"|\bmm_\w+\b.*failed to allocate|failed to allocate\b.*\b(?:mm_recv|receive FIFO)",
            FAIL,
            "/dev/shm is full",
        ),
        Pattern(
            r"exceeds memory available in /dev/shm",
            FAIL,
            "/dev/shm is smaller than the shared memory that Ray's object store is to have",
        ),
        Pattern(
            r"using /tmp instead of /dev/shm",
            WARN,
            "/dev/shm is too small for Ray's object store, which lies in /tmp, on a disk, instead",
        ),
        Pattern(
            r"\bBus error\b|\bSIGBUS\b|exit ?code *:? *-7\b|return code = -7\b|insufficient shared memory",
            FAIL,
            "a rank died of a bus error, as it does once /dev/shm is full",
            general=1,
        ),
        Pattern(
            r"(?:creating shared memory segment|set up shared memory segment|[Uu]nable to allocate shared memory"
            r"|shm_open failed|Could not map "
            r".*shm)",
            FAIL,
            "a segment in /dev/shm was not made: mostly because it has no room left",
            general=1,
            follows=True,
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/290", "https://github.com/pytorch/ci-infra/issues/490"),
)
SHM_LEFTOVERS = Card(
    id="shm-leftovers",
    title="Dead jobs left segments in /dev/shm",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "NCCL names its segments nccl-XXXXXX and removes them once all ranks have attached. A job that is killed "
        "before leaves them, and they use memory until somebody removes them."
    ),
    remedy="while no job runs: rm /dev/shm/nccl-*",
    sure="ls -l /dev/shm; sudo fuser /dev/shm/nccl-*",
    passes="every NCCL segment belongs to a process",
    reads=("/dev/shm/nccl-*", "/proc/*/maps"),
    shows=(
        "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-WU88OE (size 9637888), error: No space "
        "left on device (28)",
    ),
    shared_with=("shm-too-small",),
    links=("https://github.com/NVIDIA/nccl/issues/525",),
)
MEMLOCK_LOW = Card(
    id="memlock-low",
    title="The limit on locked memory is low",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Memory that a NIC reads and writes is locked. Slurm, systemd and ssh set limits of their own, so a job may "
        "have less than the login shell: run this inside the job. A process with CAP_IPC_LOCK is not limited."
    ),
    remedy="LimitMEMLOCK=infinity for slurmd, sshd or containerd; memlock unlimited in limits.d; --ulimit memlock=-1",
    sure="ulimit -l inside the job (srun bash -c 'ulimit -l')",
    passes="the limit is unlimited or at least 1 GB, or the process may lock without limit (CAP_IPC_LOCK)",
    reads=("getrlimit(RLIMIT_MEMLOCK) of this process", "/proc/self/status (CapEff)"),
    shows=(
        "NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",
        "NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory",
    ),
    patterns=(
        Pattern(
            r"ibv_reg_mr\w*\b.*Cannot allocate memory",
            FAIL,
            "memory cannot be registered with the NIC: the process's limit on locked memory is too low",
        ),
        Pattern(
            r"ibv_(?:create_cq|create_qp|create_srq|alloc_pd)\b.*Cannot allocate memory"
            r"|[Uu]nable to create \w+ (?:CQ|QP|SRQ)\b.*Cannot allocate memory",
            FAIL,
            "there is no memory for a NIC's queues: mostly the process's limit on locked memory is too low; where "
            "ulimit -l in the job says unlimited, there are more connections than the NIC or its host has room for",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl-tests/issues/206",),
)
NOFILE_LOW = Card(
    id="nofile-low",
    title="The limit on open files is low",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Every socket counts as an open file, and sockets grow with ranks and channels: with 1024 files a job that "
        "runs on one node fails on four or more. Newer releases of NCCL raise the soft limit to the hard one."
    ),
    remedy="ulimit -n 65536 in the job's script; LimitNOFILE for slurmd or containerd; --ulimit nofile=65536",
    sure="ulimit -n; ulimit -Hn inside the job",
    passes="more than 1024 files may be open",
    reads=("getrlimit(RLIMIT_NOFILE) of this process",),
    shows=(
        "NCCL WARN Call to accept failed : Too many open files",
        "NCCL WARN Accept failed: Too many open files",
    ),
    patterns=(Pattern(r"Too many open files", FAIL, "the limit on open files is too low", common=True),),
    links=("https://github.com/NVIDIA/nccl/issues/550", "https://github.com/NVIDIA/nccl/issues/127"),
)
NUMA_SYSCALLS_BLOCKED = Card(
    id="numa-syscalls-blocked",
    title="NUMA system calls are blocked",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Docker's default filter blocks get_mempolicy, set_mempolicy and mbind. CUDA then cannot allocate host memory "
        "on a NUMA node, which NCCL does since 2.24: it falls back to /dev/shm, or fails to attach to it where the "
        "ranks of a host do not share it."
    ),
    remedy=(
        "docker run --cap-add SYS_NICE, or NCCL_CUMEM_HOST_ENABLE=0; start all ranks of a host with one IPC namespace "
        "(--ipc=host)"
    ),
    sure="numactl --show in the container; grep Seccomp /proc/self/status",
    passes="get_mempolicy works",
    reads=("get_mempolicy", "/proc/self/status (Seccomp)"),
    shows=(
        "NCCL INFO cuMem host allocations do not appear to be working; falling back to a /dev/shm/ based "
        "implementation. This could be due to the container runtime disabling NUMA support. To disable this warning, "
        "set NCCL_CUMEM_HOST_ENABLE=0",
        "NCCL WARN Error while attaching to shared memory segment /dev/shm/nccl- (size 192814336), error: No such file "
        "or directory (2)",
    ),
    patterns=(
        Pattern(
            r"attaching to shared memory segment(?!.*No space left)|shmutils\S* +Call to open failed: No such file",
            FAIL,
            "a rank cannot attach to the shared memory of another one of the same host: they do not share /dev/shm, or "
            "one has it through CUDA (cuMem host) and the other does not (NCCL_CUMEM_HOST_ENABLE=0 on all makes them "
            "equal)",
        ),
        Pattern(
            r"cuMem host allocations do not appear to be working",
            WARN,
            "NUMA system calls are blocked: host memory comes from /dev/shm instead of CUDA",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/2190", "https://github.com/hiyouga/LLaMA-Factory/issues/9506"),
)
