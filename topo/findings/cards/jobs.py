# SPDX-License-Identifier: Apache-2.0
"""What keeps a job from starting, and what ends it from outside, as its log shows (`log explain`)."""

from railgauge.topo.findings.card import FAIL, INFO, Card, Pattern

HOST_UNRESOLVED = Card(
    id="host-unresolved",
    title="The name of another host cannot be resolved",
    levels=(INFO, FAIL),
    about=(
        "Ranks are given the first one's name (MASTER_ADDR, --rdzv-endpoint, a host file). DNS or /etc/hosts of the "
        "others do not know it; a pod has a name only with a headless service, and once it is ready."
    ),
    remedy="use an address in MASTER_ADDR or --rdzv-endpoint, or make the name known to all nodes (DNS, /etc/hosts)",
    sure="getent hosts NAME on every node and in the container",
    shows=("ssh: Could not resolve hostname gpu-02: Name or service not known",),
    patterns=(
        Pattern(
            r"cannot be retrieved \(gai error",
            FAIL,
            "the name of a host, another one's or its own, cannot be resolved to an address",
            suspect=True,
        ),
        Pattern(
            r"host not found: |[Cc]ould not resolve host|unable to get host address|UnknownHost|gaierror"
            r"|(?:getaddrinfo|gethostbyname).{0,80}(?:fail|rror)|Name or service not known|[Nn]ame resolution"
            r"|No address associated with hostname",
            FAIL,
            "the name of another host cannot be resolved to an address",
            general=1,
        ),
    ),
    links=("https://github.com/pytorch/pytorch/issues/80772",),
)
PORT_IN_USE = Card(
    id="port-in-use",
    title="The port of a job's rendezvous is taken by another process",
    levels=(FAIL,),
    about="Rank 0 of a PyTorch job listens on MASTER_PORT (29500 unless set); a second job of the node needs another.",
    remedy="end what is left of an earlier job, or give each job of a node its own port (torchrun --master-port)",
    sure="ss -ltnp 'sport = :29500'",
    shows=("[c10d] The server socket has failed to listen on any local network address.",),
    patterns=(
        Pattern(
            r"[Gg]loo.*\bbind: Address already in use",
            FAIL,
            "gloo cannot listen on a port of this host: another process has it",
        ),
        Pattern(
            r"failed to listen on any local network address|socket has failed to bind to.*errno: 98|EADDRINUSE"
            r"|\bbind: Address already in use"
            r"|[Ee]rr(?:or|no)\b(?!.*OFI EP enable).*Address already in use",
            FAIL,
            "rank 0 cannot listen on its port: another process has it",
        ),
    ),
    links=("https://github.com/pytorch/pytorch/issues/73320",),
)
RANKS_MISSING = Card(
    id="ranks-missing",
    title="Ranks did not start or did not join, or two have one number",
    levels=(INFO, FAIL),
    about=(
        "The ranks of a job find each other through a store (TCPStore, rendezvous) or NCCL's bootstrap. Those that are "
        "there wait for the others: these failed earlier, were not started, or ask another address."
    ),
    remedy=(
        "compare the number of nodes and ranks with what was started, MASTER_ADDR, MASTER_PORT and the rank numbers on "
        "all nodes; then read the logs of the ranks that are not there"
    ),
    shows=("torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/2 clients joined.",),
    patterns=(
        Pattern(
            r"Timed out .*store based barrier.*worker_count=",
            FAIL,
            "the ranks did not meet at the job's store: with a worker_count below world_size some have not come; above "
            "it more processes than ranks use the store (started twice, or another job's at the same port)",
            follows=True,
        ),
        Pattern(
            r"Waiting in store based barrier",
            FAIL,
            "a rank waits at the job's store for the others: those that worker_count lacks of world_size have not "
            "come; above it more processes than ranks use the store",
            suspect=True,
        ),
        Pattern(
            r"monitoredBarrier, but received errors",
            FAIL,
            "a rank did not get through a barrier that watches for it: the line names it (its own log says why)",
            follows=True,
        ),
        Pattern(
            r"[Bb]arrier timed out|[Tt]imed out task names|Timed out (?:waiting|initializing process group)"
            r"|store_based_barrier"
            r"|waiting for (?:clients|workers)|\d+/\d+ (?:clients|workers) joined|RendezvousTimeoutError"
            r"|Rendezvous.{1,40}timed out|failed to pass monitoredBarrier|cluster registration failed"
            r"|CoordinationService/RegisterTask|Coordination service agent in error status: DEADLINE"
            r"|Expected \d+ threads to join the rendezvous",
            FAIL,
            "not all ranks joined the job's store or a barrier in time",
            follows=True,
        ),
        Pattern(
            r"store->get\(.*got error: (?:[Ss]ocket [Tt]imeout|.*[Tt]imeout|.*timed out)|[Tt]imeout waiting for key"
            r"|[Ww]ait timeout after \d+ ?(?:ms, keys|seconds for key)|receiving the shared seed"
            r"|RuntimeError: Socket Timeout$",
            FAIL,
            "a rank waited in vain for what another one puts into the job's store, such as rank 0 NCCL's id: that one "
            "has not come so far (it loads data, or has failed)",
            follows=True,
        ),
        Pattern(
            r"mismatch in (?:info from procs|rank count)|joining a group with size \d+, but that group has size",
            FAIL,
            "ranks disagree on how many they are: processes of two jobs met at one address, or a rank was started with "
            "other numbers",
        ),
        Pattern(
            r"Invalid rank requested|rank should be in the interval",
            FAIL,
            "a rank's number is not below the number of ranks: more processes were started than WORLD_SIZE says",
        ),
        Pattern(
            r"has already checked in|[Bb]ootstrap.*ranks? .*(?:twice|already)",
            FAIL,
            "two processes have one rank number",
        ),
    ),
    links=("https://github.com/pytorch/pytorch/issues/90759",),
)
LIBRARY_MIXED = Card(
    id="library-mixed",
    title="libnccl is not found, or another one than the program was built with",
    levels=(FAIL,),
    about=(
        "A libnccl.so.2 of the system, of conda or of a second wheel (nvidia-nccl-cu11 beside -cu12) is found first, "
        "and lacks functions that the program calls. The same holds for librccl.so and for plugins."
    ),
    remedy=(
        "leave one libnccl.so.2: remove its folder from LD_LIBRARY_PATH and LD_PRELOAD, uninstall the other "
        "nvidia-nccl-cu* wheel, reinstall the program's own; on all nodes the same release"
    ),
    sure="ldd libtorch_cuda.so | grep nccl; pip list | grep nccl; LD_DEBUG=libs names the file that is loaded",
    shows=("ImportError: torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister",),
    patterns=(
        Pattern(
            r"GTL library is not linked",
            FAIL,
            "MPI was asked to send GPU memory, and the program is not linked with its GTL library: link it, or "
            "MPICH_GPU_SUPPORT_ENABLED=0",
        ),
        Pattern(
            r"undefined symbol: _?p?[nr]ccl\w+|lib[nr]ccl\.so\S*: (?:cannot open shared|version|undefined)"
            r"|(?:Failed|Unable|Could not|could not|cannot|unable) (?:to )?(?:find|load|open|dlopen) \S*"
            r"(?:lib[nr]ccl\.so|[NR]CCL library)",
            FAIL,
            "libnccl is not found, or an older one than the program was built with is found first",
        ),
        Pattern(
            r"package doesn't have NCCL",
            FAIL,
            "PyTorch was built without NCCL, as its packages for Windows, macOS and CPUs are: use the backend gloo, or "
            "Linux with a package for CUDA or ROCm",
        ),
        Pattern(
            r"MPI_Comm_(?:size|rank|set_errhandler): Invalid communicator",
            FAIL,
            "a program is built with another MPI than the one whose library or mpirun it gets: module list, ldd, which "
            "mpirun",
        ),
    ),
    links=("https://github.com/pytorch/pytorch/issues/119932", "https://github.com/NVIDIA/nccl/issues/1784"),
)
SHM_DENIED = Card(
    id="shm-denied",
    title="A rank may not use /dev/shm or the memory of another rank",
    levels=(FAIL,),
    about=(
        "Ranks of one host without P2P make and open files in /dev/shm, and MPI and UCX copy from process to process. "
        "The rights of that folder, or a container's user namespace and its rules for ptrace, forbid it."
    ),
    remedy=(
        "chmod 1777 /dev/shm; in a container mount it as a tmpfs of its own; ranks of one job run as one user, and in "
        "one user namespace; docker run --cap-add=SYS_PTRACE, kernel.yama.ptrace_scope=0, or UCX_TLS=^cma"
    ),
    sure="ls -ld /dev/shm; touch /dev/shm/try inside the job; cat /proc/sys/kernel/yama/ptrace_scope",
    shows=("NCCL WARN Call to shm_open failed : Permission denied",),
    patterns=(
        Pattern(
            r"(?:shm_open|/dev/shm|shared memory|mm_posix).*(?:Permission denied|Operation not permitted|Read-only)",
            FAIL,
            "a rank may not make or open a file in /dev/shm, or another process's memory",
        ),
        Pattern(
            r"(?:process_vm_\w+|\bcma_ep\b|\bptrace\b|\bpidfd_\w+|/proc/\d+/(?:fd|mem)\b)"
            r".*(?:Permission denied|[Nn]ot permitted|Operation not allowed)",
            FAIL,
            "a rank may not read the memory of another: they run in containers with user namespaces of their own, or "
            "ptrace is forbidden",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/328",),
)
DISK_FULL = Card(
    id="disk-full",
    title="A file system is full",
    levels=(FAIL,),
    about="Checkpoints, logs, core files, and what Ray and containers spill fill a disk or a quota, and ranks end.",
    remedy="make room, or point checkpoints, TMPDIR and Ray's --temp-dir at a larger file system; lift the quota",
    sure="df -h; df -i; quota -s",
    shows=("OSError: [Errno 28] No space left on device: '/scratch/ckpt/step-100.pt'",),
    patterns=(
        Pattern(
            r"No space left on device|Disk quota exceeded|is over \d+% full",
            FAIL,
            "a file system has no room left",
            general=1,
        ),
    ),
)
NPROC_LOW = Card(
    id="nproc-low",
    title="The limit on processes and threads is reached",
    levels=(FAIL,),
    about="NCCL starts several threads for each rank and communicator; a container's pids limit counts threads.",
    remedy="ulimit -u unlimited; docker run --pids-limit=-1, podPidsLimit for kubelet, TasksMax for systemd",
    sure="ulimit -u; cat /sys/fs/cgroup/pids.max inside the job",
    shows=("proxy.cc:1600 NCCL WARN Call to pthread_create failed : Resource temporarily unavailable",),
    patterns=(
        Pattern(
            r"(?:thread|fork|clone)\S*.*Resource temporarily unavailable|can't start new thread"
            r"|Thread creation failed",
            FAIL,
            "no further thread or process may be started",
        ),
    ),
)
JOB_STOPPED = Card(
    id="job-stopped",
    title="The job was stopped from outside",
    levels=(INFO, FAIL),
    about=(
        "A scheduler ends jobs at their time limit, for others that go first, and on nodes that fail; SIGHUP comes "
        "when the terminal of a job closes."
    ),
    remedy="a longer time limit and checkpoints; sbatch, tmux or nohup with setsid for jobs that a terminal starts",
    sure="sacct -j JOB --format=State,ExitCode,Reason; kubectl describe pod",
    shows=("slurmstepd: error: *** JOB 4711 ON gpu-01 CANCELLED AT 2025-01-01T10:00:00 DUE TO TIME LIMIT ***",),
    patterns=(
        Pattern(
            r"DUE TO (?:TIME LIMIT|PREEMPTION|JOB REQUEUE|NODE FAIL\w*)|due to (?:time limit|preemption)"
            r"|NODE_FAIL|DeadlineExceeded|reason: Evicted|was evicted|\bPreempted\b",
            FAIL,
            "the scheduler ended the job",
        ),
        Pattern(
            r"\bEvicted\b|TaintManagerEviction|NodeNotReady|failed liveness probe",
            FAIL,
            "Kubernetes ended a pod: its node is full or not ready, or the pod did not answer",
            general=1,
        ),
        Pattern(
            r"got signal: 1\b|\bSIGHUP\b",
            FAIL,
            "the job got SIGHUP: the terminal or ssh session that started it was closed",
        ),
        Pattern(
            r"got signal: (?:2|15)\b|CANCELLED AT|Received SIGTERM|received termination signal",
            FAIL,
            "the job was ended by a signal: a scheduler's, a user's, or of a launcher that saw another rank fail",
            general=1,
            follows=True,
        ),
    ),
)
HOST_MEMORY_FULL = Card(
    id="host-memory-full",
    title="Host memory cannot be allocated",
    levels=(INFO, FAIL),
    about="malloc, mmap or the allocation of page-locked memory failed in a rank.",
    remedy=(
        "check the memory limit of the container or cgroup and other load on the host; dmesg shows what was killed"
    ),
    sure="free -g; cat /sys/fs/cgroup/memory.max; dmesg | grep -i oom",
    shows=("include/alloc.h:48 NCCL WARN Failed to malloc 4096 bytes",),
    patterns=(
        Pattern(
            r"\b(?:\w*mmap|\w*alloc|posix_memalign|shmat|s?brk)\([^)]*\).*Cannot allocate memory",
            FAIL,
            "host memory cannot be mapped: the limit of a container or cgroup, of address space, or of mappings "
            "(vm.max_map_count)",
        ),
        Pattern(
            r"std::bad_alloc|\bMemoryError\b(?!.*(?:CUDA|HIP))",
            FAIL,
            "a program could not allocate host memory",
        ),
        Pattern(
            r"(?i:(?:m|c|re)alloc\(.*returned null|failed to (?:m|c|re)alloc|failed to allocate"
            r"(?!.*: input/output error)|(?<!rem allocator\] )allocation failed(?!\. no suitable|: resources)"
            r"|unable to alloc\w*(?! resources:)|malloc of \d+|oom[- ]kill"
            r"|out of host memory|failed to cuda host alloc|failed to grow)",
            FAIL,
            "host memory cannot be allocated",
            common=True,
            general=1,
        ),
        Pattern(
            r"ray\.exceptions\.OutOfMemoryError|node running low on memory|low on resource: memory"
            r"|[1-9]\d* Workers \(tasks / actors\) killed due to memory|memory pressure \(OOM\), 0 Workers crashed"
            r"|exceeds the memory usage threshold"
            r"|oom_kill event|OOM-killed|OOMKilled"
            r"|Out [Oo]f [Mm]emory: Killed process|invoked oom-killer|task \d[\d,-]*: Out Of Memory",
            FAIL,
            "a process was killed because host memory, or its limit for the job, is full",
        ),
        Pattern(
            r"exit ?code *:? *-9\b|return code = -9\b|Signal 9 \(SIGKILL\)|with signal SIGKILL|killed by signal: Killed"
            r"|exited on signal 9\b|(?i:killed by signal:? 9\b)|\bKilled \(signal 9\)|(?i:exit(?:ed)?(?: (?:with"
            r"|status|code|exit))*:? 137\b)"
            r"|(?:^|[>:] ?|\d +)Killed *$|: +\d+ Killed +\S",
            FAIL,
            "a rank was killed (SIGKILL), as the kernel does when host memory is full, or a scheduler at a limit",
            follows=True,
        ),
    ),
)
