# SPDX-License-Identifier: Apache-2.0
"""Plugins of NCCL, networks that need one, and offloads to switches and NICs, which report an error in a log."""

from railgauge.topo.findings.card import FAIL, INFO, WARN, Card, Pattern

EFA_PROVIDER_MISSING = Card(
    id="efa-provider-missing",
    title="libfabric has no usable provider for the OFI plugin",
    levels=(FAIL,),
    about=(
        "The plugin (aws-ofi-nccl) asks libfabric for EFA or another provider with GPU memory. It finds none where "
        "the EFA "
        "driver or device is missing in the container, libfabric is of another release than the plugin, or FI_PROVIDER "
        "names another one. NCCL then uses its own plugins, which know no EFA: what they say of libibverbs follows "
        "from it."
    ),
    remedy=(
        "give the container the devices (/dev/infiniband, vpc.amazonaws.com/efa), install EFA's installer with its "
        "libfabric and plugin, put both into LD_LIBRARY_PATH, unset FI_PROVIDER"
    ),
    sure="fi_info -p efa in the container lists providers; FI_LOG_LEVEL=warn and NCCL_DEBUG=INFO",
    shows=(
        "get_ofi_provider:312 NCCL WARN NET/OFI Could not find any optimal provider",
        "libfabric:85:1747438790::core:core:fi_getinfo_():1392<warn> fi_getinfo: provider efa output empty list",
    ),
    patterns=(
        Pattern(
            r"NET/OFI .*(?:provider|fi_getinfo)|provider \w+ output empty list|No eligible providers|No plugin .*ofi"
            r"|Failed to initialize .*libfabric",
            FAIL,
            "libfabric offers no provider for EFA: device, driver or library is missing",
        ),
    ),
    links=("https://github.com/aws/aws-ofi-nccl/issues/889", "https://github.com/NVIDIA/nccl/issues/229"),
)
EFA_WITHOUT_GDR = Card(
    id="efa-without-gdr",
    title="GPUDirect RDMA is not used through libfabric (EFA)",
    levels=(WARN,),
    about=(
        "The OFI plugin and EFA's driver decide it: the instance type, the driver's release, and "
        "FI_EFA_USE_DEVICE_RDMA "
        "for old ones. No module of NVIDIA's has to be loaded."
    ),
    remedy=(
        "use an instance type whose EFA has RDMA read (p4d and later), a current EFA installer, and "
        "FI_EFA_USE_DEVICE_RDMA=1 "
        "with old releases"
    ),
    sure="fi_info -p efa -c FI_HMEM in the container",
    shows=("Channel 00/0 : 1[1] -> 8[0] [send] via NET/AWS Libfabric/0",),
)
PLUGIN_FAILED = Card(
    id="plugin-failed",
    title="A plugin of NCCL reports an error",
    levels=(INFO, WARN, FAIL),
    about=(
        "Networks, tuners, profilers and the environment can be plugins: libraries that are not part of NCCL "
        "(aws-ofi-nccl, "
        "HPC-X, UCX, gIB). Errors of theirs are looked for in their documentation."
    ),
    remedy=(
        "update or remove the plugin (NCCL_NET_PLUGIN=none as a test); it has to fit the release of NCCL and its "
        "library"
    ),
    sure="NCCL_DEBUG=INFO: the lines with NET/Plugin, TUNER/Plugin and PROFILER/Plugin",
    shows=(
        "nccl_net_ofi_domain_get_ep:969 NCCL WARN NET/OFI Creating new endpoint for domain 0x7f9b failed: Invalid "
        "argument",
    ),
    patterns=(
        Pattern(
            r"\bnic \d+, [\w.-]+, .*ctrl timeout cnt \d+",
            WARN,
            "GPUDirect-TCPX waits for a peer that does not send: usual while the other ranks still start, else that "
            "rank's own log says why",
        ),
        Pattern(
            r"FI_OPT_EFA_\w+.*not supported",
            FAIL,
            "the plugin asks for what this libfabric does not know: both have to be of one EFA installer, and no "
            "other libfabric comes first in LD_LIBRARY_PATH",
        ),
        Pattern(
            r"efa.*(?:[Ii]nvalid address|[Uu]nresponsive (?:remote|peer)|[Uu]nreachable (?:remote|peer)).*Peer",
            FAIL,
            "a peer's EFA address is not valid any more: its process has ended, whose own log says why",
        ),
        Pattern(
            r"(?:gdr_copy|GPU memory) pin failed",
            FAIL,
            "UCX cannot pin GPU memory through gdr_copy: its module gdrdrv is not loaded, or does not fit the GPU's "
            "driver; UCX_TLS=^gdr_copy avoids it",
        ),
        Pattern(
            r"efa:\w+:\w+\(\):\d+<\w+> .*Cannot allocate memory"
            r"|NET/OFI Unable to register memory .*RC: -12|Unable to write to EQ.*Cannot allocate memory",
            FAIL,
            "EFA cannot register more memory: its buffers take huge pages, which have run out or are those of a "
            "process that forked (FI_EFA_USE_HUGE_PAGE=0), or the limit on locked memory is low",
        ),
        Pattern(
            r"NET/OFI Unable to register memory \(type = [2-9]\)",
            FAIL,
            "libfabric does not register GPU memory for the plugin: its provider does without CUDA here, or it is "
            "EFA's of an installer before 1.29.1 beside NCCL 2.19 or later (FI_EFA_SET_CUDA_SYNC_MEMOPS=0)",
        ),
        Pattern(
            r"NET/OFI.*(?:completed with error|insert remote address)|prov_err(?!: remote access|no: Cannot alloc)"
            r"|<warn> err: [1-9]",
            FAIL,
            "a transfer through libfabric failed: on AWS look first whether the security group of all nodes lets all "
            "traffic from and to itself pass, in both directions, as EFA needs",
        ),
        Pattern(
            r"fastsocket\.\w+:\d+ .*(?:incoming CPU|Maximum retry)",
            INFO,
            "the FastSocket plugin tries again: harmless where the connection follows",
        ),
        Pattern(
            r"NET/OFI|[Nn]etwork \S.{0,40} not found|Failed to initialize any NET plugin|NET/UCX"
            r"|libfabric:\w+:.*<(?:critical|warn)>(?!.*hmem).*(?:[Ff]ail|rror|nvalid|Unable|not permitted|Cannot"
            r"|\berr: [1-9])",
            FAIL,
            "the network plugin reports an error: its endpoint, address or library does not work",
            general=1,
        ),
        Pattern(
            r"(?i:plugin|tuner|profiler|inspector|rocprofiler|NPKit|nvtx|RMA backend|No network devices|Network "
            r"returned 0"
            r"|Unknown device code)",
            WARN,
            "a plugin of NCCL reports an error, or cannot be used",
            general=2,
        ),
    ),
)
UCX_FAILED = Card(
    id="ucx-failed",
    title="UCX, through which MPI and other programs send, reports an error",
    levels=(INFO, FAIL),
    about=(
        "UCX chooses a transport for each pair of processes: shared memory, TCP, or the verbs of a NIC. Its line names "
        "the call that failed and the kernel's or the NIC's reason; NCCL uses it only through a plugin."
    ),
    remedy=(
        "look at the reason in the line; UCX_LOG_LEVEL=info says which transports and devices are used; "
        "UCX_TLS=tcp,self as a test; one release of UCX on all nodes"
    ),
    sure="ucx_info -d; UCX_LOG_LEVEL=info of a run with two processes",
    shows=("ib_iface.c:900 UCX  ERROR ibv_create_srq() failed: Invalid argument",),
    patterns=(
        Pattern(
            r"(?:UCX|\bUCC|\bTL_[A-Z]+)  ?(?:ERROR|FATAL|WARN .*(?:fail|rror|[Uu]nable|nvalid))",
            FAIL,
            "UCX, or UCC above it, reports an error: the line has its reason",
            general=1,
        ),
        Pattern(
            r"UC[PTS] version is incompatible",
            FAIL,
            "two releases of UCX are on the host, and a program loads the older one: LD_LIBRARY_PATH, ldd",
        ),
        Pattern(
            r"mlx5dv_devx_\w+.*failed.*(?:not supported|not permitted)",
            FAIL,
            "a NIC's kernel driver or firmware does not do what libmlx5 asks of it by DevX: they are of another "
            "release, or the process lacks the rights (UCX_IB_MLX5_DEVX=n goes without)",
        ),
    ),
    links=("https://github.com/openucx/ucx/issues/7978",),
)
TRANSFER_FAILED = Card(
    id="transfer-failed",
    title="NIXL or Mooncake, which move the KV caches of servers, reports an error",
    levels=(INFO, FAIL),
    about=(
        "A server that fills a KV cache (prefill) sends it to one that reads it (decode), by RDMA through UCX, "
        "libfabric or verbs. A transfer ends if either process ends, or their NICs do not reach each other."
    ),
    remedy=(
        "look at the earliest line on either side; ib_write_bw between the two NICs that it names; the same device "
        "names, GIDs and releases on both sides; UCX_TLS=tcp or MC_FORCE_TCP=1 as a test"
    ),
    sure="ib_write_bw -d DEVICE HOST; ucx_info -d; nvidia-smi topo -m",
    shows=("E1120 11:10:27.133715 203020 transfer_task.cpp:305] Failed to complete transfers after 60 seconds",),
    patterns=(
        Pattern(
            r"metadata for remote agent|NIXL_ERR_REMOTE_DISCONNECT|[Cc]onnection found for (?:remote )?agent"
            r"|NIXL transfer failure: handshake"
            r"|remote agent was invalidated|loadRemoteMD in P2P backend failed|might be dead",
            FAIL,
            "the process at the other end of a transfer is gone, or not there yet: its own log says why",
            follows=True,
        ),
        Pattern(
            r"NIXL agent engine ID mismatch",
            FAIL,
            "another NIXL agent answers than the one asked for: the address is of another engine (vLLM: "
            "VLLM_NIXL_SIDE_CHANNEL_HOST and _PORT), or that engine started again",
        ),
        Pattern(
            r"Failed to complete transfers after|batch data transfer timeout|KVTransferError",
            FAIL,
            "a transfer did not end in time: the other end has ended, or data do not get through between the two",
            follows=True,
        ),
        Pattern(
            r"Context is not active: |Device \d+ is not active|mark it inactive",
            FAIL,
            "Mooncake leaves a NIC aside after errors of it, which an earlier line names",
            follows=True,
        ),
        Pattern(
            r"NIXL_ERR_NOT_SUPPORTED|no (?:common|specified|potential) \w* ?backends? |no backends? support",
            FAIL,
            "NIXL has no backend that both ends have and that takes this memory: its plugin (UCX) did not load, or is "
            "built without CUDA",
        ),
        Pattern(
            r"\bE\d{4} .*(?:nixl_\w+|ucx_\w+|libfabric_\w+|(?:rdma|tcp)_(?:endpoint|context|transport)|worker_pool"
            r"|transfer_\w+)\.(?:cpp|h):\d+\]",
            FAIL,
            "NIXL or Mooncake reports an error: the line has its reason",
            general=1,
        ),
        Pattern(
            r"NIXL_ERR_",
            FAIL,
            "NIXL reports that its backend, which is UCX where nothing else is asked for, failed",
            general=1,
            follows=True,
        ),
    ),
)
HCCL_FAILED = Card(
    id="hccl-failed",
    title="HCCL, by which Ascend's NPUs communicate, reports an error",
    levels=(INFO, FAIL),
    about=(
        "CANN's messages begin with a code: EI of HCCL, EJ of its agent on the device, EE and EZ of the runtime. The "
        "lines of other ranks, and CANN's logs in ~/ascend/log, say more."
    ),
    remedy=(
        "look at the ranks that report something else, or nothing; npu-smi info; hccn_tool -i N -link -g of each NPU"
    ),
    sure="npu-smi info; hccn_tool -i N -net_health -g; grep -r ERROR ~/ascend/log",
    shows=("EI0009: Transport init error. Reason: Create Dest error!",),
    patterns=(
        Pattern(
            r"\bEI0002\b|wait execution of the Notify register times out",
            FAIL,
            "a rank waited in vain for what another one has to do in a collective: that one is late, has failed, or "
            "packets are lost",
            follows=True,
        ),
        Pattern(
            r"\bEI0004\b",
            FAIL,
            "the table of ranks (RANK_TABLE_FILE) does not fit the NPUs of the job",
        ),
        Pattern(
            r"\bEI0006\b|[Gg]etting socket times out",
            FAIL,
            "a rank did not reach another one's NPU in time: that process has not come so far, or the NPUs' links or "
            "addresses do not lead there",
        ),
        Pattern(
            r"\bEI0009\b|Transport init error",
            FAIL,
            "two NPUs cannot set up their link: the other end's process has failed, or its port is down",
        ),
        Pattern(
            r"\bEJ0001\b|Failed to initialize the HCCP process",
            FAIL,
            "the agent on an NPU does not start: a process of an earlier job still holds the device (npu-smi info "
            "names it), or a container has not got it",
        ),
        Pattern(
            r"\bE[A-Z]\d{4}: ",
            FAIL,
            "CANN reports an error: the line has its reason",
            general=1,
        ),
        Pattern(
            r"[Hh]cclCommInit\w*(?:\(.*)? ?fail|call hccl api failed|HCCL (?:function )?error|\[ERROR\] HCCL\(",
            FAIL,
            "a call of HCCL failed: the lines beside it, or CANN's logs, have its code",
            general=1,
            follows=True,
        ),
    ),
)
COLLNET_FAILED = Card(
    id="collnet-failed",
    title="Reductions in the network (CollNet, SHARP) or in MSCCL do not work",
    levels=(WARN,),
    about="NCCL goes on with its own rings and trees where an offload does not start.",
    remedy="NCCL_COLLNET_ENABLE=0, or check the SHARP daemon (sharpd, sharp_am) and the plugin's release",
    shows=("transport.cc:200 NCCL WARN Cannot initialize CollNet, using point-to-point network instead",),
    patterns=(
        Pattern(
            r"Attribute \w+ of node algo not found",
            WARN,
            "the XML of an algorithm (MSCCL, SCCL) lacks an attribute: it was made for another release of it",
        ),
        Pattern(
            r"SHARP (?:coll|group)|Cannot create SHARP|\bsharp_\w+.*(?:[Ff]ail|[Ee]rror)|collect_ports_data:"
            r"|lock SAT tree",
            WARN,
            "SHARP, which reduces in the switches, does not start: its port, trees or resources are not available; "
            "NCCL goes on without it",
        ),
        Pattern(
            r"(?i:collnet|sharp|msccl|coll_net|proxyConnect: re(?:q|sp)Size)",
            WARN,
            "an offload of collectives does not work",
            general=2,
        ),
    ),
)
GIN_FAILED = Card(
    id="gin-failed",
    title="Memory that kernels send from (GIN, windows, symmetric memory) cannot be used",
    levels=(INFO, FAIL),
    about="Since 2.28 kernels can send by themselves from memory that all ranks registered in the same way.",
    remedy="register the same sizes on all ranks in the same order; NCCL_GIN_ENABLE=0 or NCCL_WIN_ENABLE=0 as a test",
    shows=("gin/gin_host.cc:90 NCCL WARN GIN is disabled.",),
    patterns=(
        Pattern(
            r"[Ff]atal IPC [Ff]ailure|^IPC failure: ",
            FAIL,
            "NVSHMEM cannot hand memory to another process of what it takes for one host: hosts of one name, "
            "containers without a common /tmp or PID namespace, or a process that ended",
            general=1,
        ),
        Pattern(
            r"NCCL_GIN_TYPE_NONE",
            FAIL,
            "a program wants to send from kernels (GIN), and NCCL has no way for it here: RDMA devices that can, "
            "NVLink between all ranks, NCCL 2.28 or later and its settings (NCCL_GIN_ENABLE, NCCL_GIN_TYPE)",
        ),
        Pattern(
            r"ibgda\S*:\d+: .*mlx5dv_devx",
            FAIL,
            "NVSHMEM's IBGDA may not use DEVX, by which kernels drive a NIC: the container lacks the rights "
            "(--privileged, or /dev/infiniband with CAP_SYS_RAWIO and CAP_IPC_LOCK), or the driver is older",
        ),
        Pattern(
            r"init failed for transport|initialize any transports",
            FAIL,
            "NVSHMEM finds no transport: IBGDA needs mlx5 devices with nvidia_peermem or DMA-BUF, and the rights to "
            "open them; the lines above say what it skipped",
            general=1,
        ),
        Pattern(
            r"nvshmem\S*/src/\S+:\d+: non-zero status: \d+:? (?!connect|nvshmem)[A-Z]",
            FAIL,
            "NVSHMEM reports an error of a call: the line has its reason",
            general=1,
        ),
        Pattern(
            r"(?i:\bg(?:in|daki)\b|gin_|\bgfd\b|window|symmetric|\bsymk?\b|doca|dev ?comm|devr|MemManager|rma[_ ]"
            r"|Memory (?:resume|suspend)"
            r"|multi-segment|physical segments|multi(?:cast|mem)|MCBasePtr|extends beyond allocation|no allocation "
            r"found|signal|\bput\b|NVSHMEM|registration|regist(?:er|ration) )",
            FAIL,
            "memory for sending from kernels cannot be registered or used",
            general=2,
        ),
    ),
)
