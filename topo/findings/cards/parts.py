# SPDX-License-Identifier: Apache-2.0
"""Parts of NCCL and of the programs around it that report an error in a log (`log explain`)."""

from railgauge.topo.findings.card import FAIL, INFO, WARN, Card, Pattern
from railgauge.topo.findings.completions import ended_with

FEWER_CHANNELS = Card(
    id="fewer-channels",
    title="NCCL chose fewer or slower channels than the machine allows",
    levels=(WARN,),
    about=(
        "The log's Pattern lines are compared with the search on the machine given with --from: what NCCL finds "
        "there, and "
        "the best. A topology file that states less, a lost link, or a setting makes the difference."
    ),
    remedy=(
        "unset NCCL_TOPO_FILE, NCCL_GRAPH_FILE and settings that limit channels; then compare NVLinks and PCIe links"
    ),
    sure="railgauge graph search --policy nccl; railgauge check",
)
CHOICE_DIFFERS = Card(
    id="choice-differs",
    title="Ranks use other connections than NCCL chooses on the machine",
    levels=(INFO, WARN),
    about=(
        "With --from, connections, rings and crossNic of the log are compared with NCCL's search on that machine. "
        "Ranks of one host that go through SHM or a NIC where P2P is possible lose most of their bandwidth: a "
        "setting, a container with its own IPC or host name, ACS or IOMMU turned P2P off."
    ),
    remedy=(
        "unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL; give containers of a job one IPC namespace; then check P2P itself"
    ),
    sure="railgauge topo paths; railgauge check --only acs-enabled --only iommu-translating",
)
LINK_LAYERS_MIXED = Card(
    id="link-layers-mixed",
    title="NCCL uses InfiniBand and RoCE ports together",
    levels=(INFO, WARN, FAIL),
    about=(
        "NCCL pairs ports by their order and never asks whether both are of one kind: an InfiniBand port that meets "
        "a RoCE "
        "port cannot connect (ibv_modify_qp: Invalid argument). The RoCE port is often meant for storage or management."
    ),
    remedy="name the ports of one kind in NCCL_IB_HCA (^ in front leaves the named ports out), the same on every node",
    sure="ibstat: Link layer of each port; railgauge env",
    shows=(
        "transport/net_ib.cc:1100 NCCL WARN NET/IB : Remote RoCE device is incompatible with the local "
        "[0]mlx5_0:1/IB. Try selecting NICs of only one link type using NCCL_IB_HCA",
    ),
    patterns=(
        Pattern(
            r"Remote \S+ device is incompatible with the local",
            FAIL,
            "an InfiniBand port of one node was paired with a RoCE port of another",
        ),
    ),
)
RDMA_ACCESS_REFUSED = Card(
    id="rdma-access-refused",
    title="A NIC refused access to memory",
    levels=(INFO, FAIL),
    about=(
        "Status 9, 10 and 11 come from the peer's NIC, which says that an address, key or size is not allowed; the "
        "peer reports 'local access violation' at that moment. Registered memory was freed or has moved, the ranks "
        "disagree on a size, or GPUDirect RDMA does not reach the GPU's memory (ACS, IOMMU)."
    ),
    remedy=(
        "look in the log of the peer at that time; update NCCL and the NIC's firmware; NCCL_NET_GDR_LEVEL=LOC, and "
        "NCCL_LOCAL_REGISTER=0 with NCCL_GRAPH_REGISTER=0, as tests tell which memory it is"
    ),
    shows=(
        "NCCL WARN NET/IB : Got completion from peer 10.1.3.201<33057> with status=9 opcode=0 len=0 vendor err 138 "
        "(Send)",
        "NCCL WARN NET/IB : mlx5_0:1 Got async event : local access violation work queue error",
    ),
    patterns=(
        Pattern(
            ended_with(9),
            FAIL,
            "the peer's NIC refused a request as invalid (status 9): its memory, key or size does not fit",
        ),
        Pattern(
            ended_with(10) + r"|prov_err: remote access error",
            FAIL,
            "the peer's NIC refused access to its memory (status 10)",
        ),
        Pattern(
            ended_with(11),
            FAIL,
            "the peer's NIC could not finish an operation (status 11)",
        ),
        Pattern(
            r"access violation work queue|local access violation|(?<!request )local work queue error",
            FAIL,
            "a NIC reports an access to memory that is not allowed: the completion of that operation, here or in the "
            "log of the peer, says whose it was",
            follows=True,
        ),
        Pattern(
            r"invalid request local work queue error",
            FAIL,
            "a NIC got a request of a peer that is not valid: its kind or size does not fit what is waited for",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/1710",),
)
NIC_DRIVER_FAILS = Card(
    id="nic-driver-fails",
    title="A NIC's driver reports a fault of the NIC or its firmware",
    levels=(FAIL,),
    about=(
        "The kernel's log has what the driver of a NIC says: a queue that does not move, a command that the firmware "
        "does not answer, a health check that fails. The port may still be shown as up."
    ),
    effect="connections through the NIC stop: ranks time out, or their completions fail with status 12",
    remedy=(
        "drain the node; reset the NIC (devlink dev reload, mlxfwreset) or restart the node; update the firmware and "
        "the driver together; replace the NIC if it returns"
    ),
    sure="dmesg | grep -e mlx5 -e bnxt -e efa; devlink health show",
    shows=("mlx5_core 0000:3b:00.0 eth2: TX timeout detected",),
    patterns=(
        Pattern(
            r"(?:mlx\d_\w+|bnxt_\w+|ice|irdma|efa|ena)\b.*(?:TX timeout|[Tt]ransmit queue \d+ timed out)"
            r"|NETDEV WATCHDOG",
            FAIL,
            "a NIC's driver reports a queue that sends nothing any more",
        ),
        Pattern(
            r"mlx\d_\w+.*(?:health (?:compromised|recovery)|[Ff]atal error|internal error|assert_var|assert_exit_ptr"
            r"|timeout\. Will cause a leak|[Cc]ommand .*timed? ?out|device is in (?:error|an error) state)"
            r"|bnxt_en.*(?:[Ff]irmware (?:fatal|reset)|fatal firmware)",
            FAIL,
            "a NIC's firmware failed or does not answer its driver",
        ),
        Pattern(
            r"\b(?:mlx\d_core|bnxt_\w+|ice|irdma|efa|ena)\b.*\bprobe .*failed with error",
            FAIL,
            "a NIC's driver cannot start a NIC: its firmware fits neither the driver nor this kernel, or the NIC is "
            "faulty; the lines above say what failed",
        ),
        Pattern(
            r"(?:\binfiniband \w+|\bmlx\d_\w+|\birdma|\bbnxt_re)\b.*(?i:reg[_ ]?mr|register mr|mkey|memory region)"
            r".*(?:-12\b|ENOMEM|Cannot allocate)",
            FAIL,
            "a NIC's driver cannot register more memory (-12): the NIC's table of memory regions is used up, by other "
            "processes or registrations that are not given back, or the host has no memory left for it",
        ),
        Pattern(
            r"(?:\binfiniband \w+|\b(?:mlx\d_\w+|efa|irdma|bnxt_(?:en|re)|ice"
            r"|ena) [0-9a-f]{4}:[0-9a-f:.]+(?: \w+)?): .*"
            r"(?:[Ff]ailed|\b[Ee]rror\b|[Tt]imed? ?out|\bstuck\b|[Uu]nable to)",
            FAIL,
            "a NIC's driver reports an error: the line has its reason",
            general=1,
        ),
    ),
)
RDMA_CALL_FAILED = Card(
    id="rdma-call-failed",
    title="A call of the RDMA library failed, or NCCL's RDMA transport reports an error",
    levels=(INFO, FAIL),
    about="libibverbs and the NIC's driver refuse a call, or NCCL's transport over them finds something wrong.",
    remedy="look at the reason in the line; update the NIC's firmware, rdma-core and NCCL; NCCL_IB_DISABLE=1 as a test",
    sure="ibv_devinfo -v in the container; ib_write_bw between the same two NICs",
    shows=("misc/ibvwrap.cc:200 NCCL WARN Call to ibv_query_device failed with error Bad address",),
    patterns=(
        Pattern(
            r"cxip?_\w*auth_key\w* failed|cxi.*\bVNIs?\b.*(?:fail|denied|not)",
            FAIL,
            "Slingshot (cxi) gives the job no VNI: Slurm allots none to jobs of one node "
            "(srun --network=single_node_vni), or the default service of the NIC is off (cxi_service list)",
        ),
        Pattern(
            r"mad_rpc_open_port|can't open MAD port|iberror: failed",
            FAIL,
            "InfiniBand's management (MAD) does not work here: the port is Ethernet (RoCE), where ibnetdiscover and "
            "perfquery have nothing to ask, it is down, or /dev/infiniband/umad* may not be opened",
        ),
        Pattern(
            r"Flow control triggered|failure to append LE|completion queue exhaustion",
            FAIL,
            "Slingshot's NIC (cxi) has no room left for messages that nobody has asked for yet: "
            "FI_CXI_RX_MATCH_MODE=software or hybrid, a larger FI_CXI_DEFAULT_CQ_SIZE",
        ),
        Pattern(
            r"(?:Unable|[Ff]ailed) to create (?:\w+ )?QP\b"
            r"|Couldn't (?:get device attribute|create (?:IB resource|CQ|QP))",
            FAIL,
            "an RDMA device is there, and a program cannot make a connection's resources on it: memory may not be "
            "locked (ulimit -l, IPC_LOCK in a container), or the device's own limits are reached (many processes of "
            "the node, its firmware)",
        ),
        Pattern(
            r"[Ff]ailed to modify (?:\w+ )?QP (?:\d+ )?to(?!.*timed out)|Unable to Connect the HCA",
            FAIL,
            "a NIC's driver refused the next state of a connection: to INIT for want of rights or of the partition "
            "key, to RTR because the peer's address does not resolve or is of another kind (GID index, link layer)",
        ),
        Pattern(
            r"Got CQE with error",
            FAIL,
            "a completion of a NIC reports an error: the line below it has its status",
            follows=True,
        ),
        Pattern(
            r"process command ALLOC_PD|[Ff]ailed to allocate pd\b",
            FAIL,
            "a NIC gives no further protection domain: too many processes or communicators have opened it",
        ),
        Pattern(
            r"(?:ibv_open_device|ibv_alloc_pd|mlx5dv_\w+|\bDEVX|devx_\w+)\b.*(?:Cannot allocate memory|\bENOMEM\b)"
            r"|mlx5_(?:cmd|core)\S*.*status (?:limits exceeded|no resources)",
            FAIL,
            "a NIC gives no more contexts, pages or queues: many processes of the node have opened it; fewer ranks or "
            "connections (UCX_TLS with ud or dc), or a higher limit in its firmware (mlxconfig)",
        ),
        Pattern(
            r"mlx5dv_devx_\w+\(\w*\) failed.*syndrome",
            FAIL,
            "a NIC's firmware refuses a queue that a program asks for by DevX: its limits are reached, or firmware and "
            "libmlx5 are of another release; the syndrome tells NVIDIA's support which",
        ),
        Pattern(
            r"RDMA_CM_EVENT_(?:REJECTED|UNREACHABLE|\w+_ERROR|DEVICE_REMOVAL)|rdma_(?:resolve_\w+|connect)\b.*(?:fail"
            r"|rror)",
            FAIL,
            "RDMA's connection manager did not connect two ends: nothing listens at the address, it refused, or there "
            "is no route to it; the address has to be that of the NIC's own interface",
        ),
        Pattern(
            r"ibv_\w+|NET/IB|IbSend|IbRecv|net_ib|Ib Alloc|mlx5dv|MLX5",
            FAIL,
            "a call of the RDMA library failed, or NCCL's transport over it",
            general=2,
        ),
    ),
)
INVALID_USAGE = Card(
    id="invalid-usage",
    title="The program calls NCCL with something that is not allowed",
    levels=(INFO, FAIL),
    about="NCCL checks what it is given: pointers, devices, ranks, types, and communicators that are still alive.",
    remedy=(
        "look at the call that the line names, in the program: device, pointer, rank and the order of calls on each "
        "rank"
    ),
    shows=("misc/argcheck.cc:39 NCCL WARN AllReduce : sendbuff is not a valid pointer",),
    patterns=(
        Pattern(
            r"NCCL [Ee]rror\b(?:(?!unhandled).){0,300}\binvalid (?:argument|usage)|ncclInvalid(?:Argument|Usage)\b"
            r"|\bnccl[A-Z]\w+ failed: invalid (?:argument|usage)",
            FAIL,
            "the program called NCCL in a way that is not allowed, which NCCL_DEBUG=WARN of that rank explains: mostly "
            "two ranks on one GPU, or more processes than WORLD_SIZE says",
            follows=True,
        ),
        Pattern(
            r"must be initialized via NCCL_\w+_INITIALIZER",
            FAIL,
            "the program gives NCCL a structure that NCCL's initializer did not fill, or that of another release: it "
            "was built with other headers than the libnccl that runs",
        ),
        Pattern(
            r"\bin the 0\.\.-1 range|[Cc]omm \S+ has already been destroyed",
            FAIL,
            "the program goes on with a communicator that did not start, or was destroyed",
            follows=True,
        ),
        Pattern(
            r"(?i:argcheck|is not a valid|argument is null|allocated on device|invalid (?:root|type|reduction|rank"
            r"|device count|argument"
            r"|config|comm\w*|usage|peer|color|count|value of|pointer|size|number of ranks|scope|parameter|handle"
            r"|window|op\w*)\b"
            r"|improper usage|has already been destroyed|ncclInvalid(?:Usage|Argument)|corrupted comm object|not "
            r"initialized via"
            r"|should be (?:positive|in)|must (?:be|pass)|before the previous operation|invalig|illegal to|not "
            r"within valid range|cannot be captured|is NULL|too old\b|backwards compatible|too many async"
            r"|ncclComm\w+ ?:|ncclGroup|pass NULL|is not allowed|[mM](?:in|ax)CTAs|splitShare|cannot be called"
            r"|may only be called|not supported|unsupported|while capturing|in the same group|exceeds ndev"
            r"|uninitialized|to self without a matching|ncclRedOp|captured by the same graph|FP8 reduction)",
            FAIL,
            "the program calls NCCL in a way that is not allowed",
            general=2,
        ),
    ),
)
SYSTEM_CALL_FAILED = Card(
    id="system-call-failed",
    title="A system call or a thread of NCCL failed",
    levels=(INFO, FAIL),
    about="The line names the call and the reason that the kernel gives.",
    remedy="look at the reason in the line: limits (ulimit -a), rights of the container, space of a file system",
    shows=("proxy.cc:1600 NCCL WARN Call to fcntl failed : Bad file descriptor",),
    patterns=(
        Pattern(
            r"pthread_create returns 22\b",
            FAIL,
            "oneCCL cannot start a thread on the cores that it was given: the process does not have them "
            "(CCL_WORKER_AFFINITY, the launcher's binding, the cpuset of the container)",
        ),
        Pattern(
            r"(?i:call to \w+(?:\(\))? (?:timeout|returned|failed)|thread (?:creation|join)|fcntl|\bmmap\b|munmap"
            r"|unlink|could not map|unable to open"
            r"|failed to (?:open|read|write|set cpu|get|create|close|load)|dlv?sym|message queue|random|unhandled "
            r"system error|ncclSystemError|timed? ?out"
            r"|shm(?:_open| close)|shared memory|gdr_|gdrcopy|\bUDS\b|pthread_join|join thread|ipcsocket|could not "
            r"(?:open|read|retrieve|determine)|error reading|file descriptor)",
            FAIL,
            "a system call of NCCL failed",
            general=2,
        ),
    ),
)
TOPOLOGY_UNUSABLE = Card(
    id="topology-unusable",
    title="NCCL does not understand the machine's topology",
    levels=(INFO, FAIL),
    about="NCCL reads the machine from /sys, or from a topology file, and searches rings and trees in it.",
    remedy="unset NCCL_TOPO_FILE and NCCL_GRAPH_FILE; check with railgauge topo lint; update NCCL for new machines",
    sure="NCCL_TOPO_DUMP_FILE=topo.xml, then railgauge topo lint topo.xml",
    shows=("graph/topo.cc:300 NCCL WARN Could not find NET with id 3",),
    patterns=(
        Pattern(
            r"Could not read node #|(?:alt_rsmi|kfd).*(?:[Cc]ould not|[Ff]ailed to) (?:open|read)",
            FAIL,
            "RCCL cannot read a GPU in the kernel's list (KFD): a VM or container is given only some of the host's "
            "GPUs, or not their device nodes",
        ),
        Pattern(
            r"Attribute busid of node nic not found",
            FAIL,
            "a NIC that is no PCI device, such as one on USB, has no PCI address, which this release of NCCL looks for "
            "where it puts NICs and GPUs in order: update NCCL, or take the NIC away",
        ),
        Pattern(
            r"ring \d+ does not (?:loop back|contain)",
            FAIL,
            "the rings that ranks put together do not close: the ranks see different topologies, or have different "
            "settings, topology files or releases of NCCL",
        ),
        Pattern(
            r"[Ff]ailed to find reverse path",
            FAIL,
            "one end of a link between GPUs is known, the other is not: this release is older than the GPUs (H100 "
            "from NCCL 2.15, Blackwell from 2.25), the job is not given all GPUs of the host, or the driver reports "
            "NVLinks in one direction only (said of 535.161.08: update it)",
        ),
        Pattern(
            r"(?i:(?:^|/)graph/|topo|\bring\b|rings|tree|nvlink|nvswitch|could not find|\bxgmi|\bpci|numa|affinity|rome"
            r"|\bnics?\b|\bxml"
            r"|system hostHashes|intra ?(?:node|proc|ranks)|local ?rank|nLocals|channels? upper)",
            FAIL,
            "NCCL does not understand the machine's topology or finds no channels in it",
            general=2,
        ),
    ),
)
RAS_TROUBLE = Card(
    id="ras-trouble",
    title="NCCL's RAS service reports trouble of its own",
    levels=(INFO,),
    about="RAS watches a job beside its collectives; what fails in it does not stop the job.",
    shows=("ras/ras.cc:400 NCCL WARN RAS thread terminating",),
    patterns=(
        Pattern(
            r"(?i:\bras\b|\bras/|ras_|^ras)", INFO, "RAS, which watches the job, has trouble of its own", general=2
        ),
    ),
)
NCCL_INTERNAL = Card(
    id="nccl-internal",
    title="A check inside NCCL failed",
    levels=(FAIL,),
    about=(
        "NCCL found its own state wrong: memory that was overwritten, ranks that disagree, or a fault of the release."
    ),
    remedy="look at the first message of all ranks; update NCCL; report it with the logs of all ranks",
    shows=("proxy.cc:300 NCCL WARN Active list loop at element 3",),
    patterns=(
        Pattern(
            r"(?i:internal error|ncclInternalError|internal check failed|list loop|pool|proxy|out of bounds?|has bugs"
            r"|unknown (?:device|error|command|proto\w*|algo\w*|type|op\w*)"
            r"|unexpected|inconsistent|mismatch|corrupt|clique|refcn?t|\bkernel\b|enqueue|\bplan\b|no algorithm"
            r"|\bwork\b|mixed|overflow|bug\b"
            r"|multiple (?:ends|starts)|group creation|not aligned|strong stream|stream is not|async ?job|PARAM:"
            r"|allgather|exchange|node of type|channels?\b)",
            FAIL,
            "a check inside NCCL failed",
            general=2,
        ),
    ),
)
