# SPDX-License-Identifier: Apache-2.0
"""The settings that NCCL reads, and those that it once read.

Names and defaults are those of NCCL 2.30 (its NCCL_PARAM and ncclGetEnv); releases from the environment variables in
NVIDIA's documentation, else the first of its tags that reads the name, "" where that is the oldest (2.3.5).
"""

from difflib import get_close_matches
from enum import StrEnum
from typing import NamedTuple


class ValueType(StrEnum):
    """The type of a value: a number as strtoll reads it, a text from a set, a list, a path type, a file, a size."""

    NUMBER = "number"
    TEXT = "text"
    LIST = "list"
    LEVEL = "level"
    FILE = "file"


class KnownSetting(NamedTuple):
    """One setting. default: NCCL's value without it, "" if it depends on the machine. since: the first release that
    reads it. least, most: bounds of a number, None without one.
    """

    name: str
    kind: ValueType
    default: str
    since: str
    meaning: str
    least: int | None = None
    most: int | None = None


CHOICES = ("NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_NRINGS", "NCCL_MAX_NRINGS")
"""Settings that force a choice that `graph predict` models."""
BINDING = (*CHOICES, "NCCL_NTHREADS", "NCCL_BUFFSIZE", "NCCL_GRAPH_FILE")
"""All settings that force one choice for all jobs, sizes and numbers of nodes."""


def nearest(name: str) -> str | None:
    """The setting with the most similar name; None if none is similar."""
    wanted = name.strip().upper()
    found = get_close_matches(wanted, [*KNOWN], 1, 0.85)
    return wanted if wanted in KNOWN else found[0] if found else None


def _parsed(table: str) -> dict[str, KnownSetting]:
    rows = [[part.strip() for part in line.split("|")] for line in table.strip().splitlines()]
    return {row[0]: _known(*row) for row in rows}


def _undocumented(table: str) -> dict[str, KnownSetting]:
    """Names by their first release, "-" for an unknown one."""
    meaning = "read by NCCL, but not documented"
    rows = (line.split(" | ") for line in table.strip().splitlines())
    return {
        name: KnownSetting(name=name, kind=ValueType.TEXT, default="", since=since.strip("-"), meaning=meaning)
        for since, names in rows
        for name in names.split()
    }


def _known(name: str, kind: str, default: str, since: str, meaning: str) -> KnownSetting:
    least, most = BOUNDS.get(name, (None, None))
    return KnownSetting(
        name=name, kind=ValueType(kind), default=default, since=since, meaning=meaning, least=least, most=most
    )


BOUNDS = {
    "NCCL_IB_TIMEOUT": (0, 31),  # five bits of a queue pair: IBTA 9.9.2.1.1
    "NCCL_IB_RETRY_CNT": (0, 7),
    "NCCL_IB_SL": (-1, 15),
    "NCCL_IB_TC": (-1, 255),
    "NCCL_IB_FIFO_TC": (-1, 255),
    "NCCL_IB_QPS_PER_CONNECTION": (1, 128),  # NCCL_IB_MAX_QPS
    "NCCL_IB_PKEY": (0, 65535),  # 16 bits of an index: ibv_qp_attr
    "NCCL_IB_PCI_RELAXED_ORDERING": (0, 2),
    "NCCL_IB_MQP_RETRY_CNT": (0, 2**31 - 1),  # an int of wrap_ibv_modify_qp
    "NCCL_IB_MQP_RETRY_SLEEP_MSEC": (0, 2**31 - 1),
    "NCCL_SOCKET_NTHREADS": (-2, 16),  # MAX_THREADS
    "NCCL_IB_ROCE_VERSION_NUM": (1, 2),
}
REMOVED = {
    "NCCL_RINGS": "NCCL searches rings since 2.5; use NCCL_GRAPH_FILE to give them",
    "NCCL_LL_THRESHOLD": "since 2.5 NCCL chooses by size itself; NCCL_PROTO limits the choice",
    "NCCL_TREE_THRESHOLD": "since 2.5 NCCL chooses by size itself; NCCL_ALGO limits the choice",
    "NCCL_SINGLE_RING_THRESHOLD": "removed in 2.5",
    "NCCL_IB_CUDA_SUPPORT": "replaced by NCCL_NET_GDR_LEVEL in 2.4",
    "NCCL_IB_GDR_LEVEL": "replaced by NCCL_NET_GDR_LEVEL",
    "NCCL_SHM_USE_CUDA_MEMCPY": "no longer in 2.30",
    "NCCL_CHECKS_DISABLE": "replaced by NCCL_CHECK_POINTERS in 2.2",
    "NCCL_AGG_CHANNEL_SIZE": "removed in 2.20",
    "NCCL_CREATE_THREAD_CONTEXT": "removed in 2.30.7",
    "NCCL_CUDA_PATH": "removed in 2.21",
    "NCCL_GDRCOPY_TAIL_ENABLE": "replaced by NCCL_GDRCOPY_SYNC_ENABLE in 2.12",
    "NCCL_GIN_COUNTER_POOL_SIZE": "removed in 2.30",
    "NCCL_GIN_EXCLUSIVE_CONTEXTS": "removed in 2.30",
    "NCCL_GIN_NCONTEXTS": "replaced by NCCL_GIN_NCONNECTIONS in 2.30",
    "NCCL_GIN_SIGNAL_POOL_SIZE": "removed in 2.30",
    "NCCL_PROXY_PROFILE": "replaced by the profiler plugin (NCCL_PROFILER_PLUGIN) in 2.23",
    "NCCL_SHARED_BUFF_COUNT": "removed in 2.9",
    "NCCL_SHM_MEMCPY_MODE": "removed in 2.30.7",
    "NCCL_THREAD_THRESHOLD": "removed in 2.5",
    "NCCL_WORK_FIFO_DEPTH": "replaced by NCCL_WORK_FIFO_BYTES in 2.22",
}
"""Settings of older releases that NCCL no longer reads, and their replacements."""

KNOWN = _parsed("""
NCCL_ALGO | list | | 2.5 | the algorithms that may be used, by collective
NCCL_ALLGATHERV_ENABLE | number | 1 | 2.29 | 0: no all-gather of different sizes in one kernel
NCCL_ALLOC_P2P_NET_LL_BUFFERS | number | 0 | 2.14 | 1: each network connection has its own buffers for LL
NCCL_BUFFSIZE | number | 4194304 | | bytes of a buffer between two ranks
NCCL_CGA_CLUSTER_SIZE | number | | 2.16 | blocks of a cluster on the GPU, 0 to 8
NCCL_CHECK_MODE | text | | 2.29 | how thoroughly arguments are checked
NCCL_CHECK_POINTERS | number | 0 | 2.2.12 | 1: check each pointer on each call
NCCL_CHUNK_SIZE | number | | 2.12 | bytes of a chunk
NCCL_COLLNET_ENABLE | number | 0 | 2.6 | 1: reductions in the network (SHARP) by a plugin
NCCL_COLLNET_NODE_THRESHOLD | number | 2 | 2.9.9 | number of nodes from which the network reduces
NCCL_COMM_BLOCKING | number | | 2.14 | whether calls wait until a communicator is ready
NCCL_COMM_ID | text | | | address and port of the bootstrap's root
NCCL_COMM_SHRINK_SHARE_RESOURCES | number | | 2.27 | whether a shrunk communicator shares resources with its parent
NCCL_COMM_SPLIT_SHARE_RESOURCES | number | | 2.18 | whether a split communicator shares resources with its parent
NCCL_CONF_FILE | file | | 2.23 | settings file to read instead of ~/.nccl.conf
NCCL_CONNECT_ROUND_MAX_PEERS | number | 128 | 2.19 | peers to connect to at one time
NCCL_CROSS_NIC | number | 2 | 2.5 | whether a ring may leave by another NIC than it enters by
NCCL_CTA_POLICY | text | DEFAULT | 2.27 | whether to use fewer blocks on the GPU
NCCL_CUMEM_ENABLE | number | -2 | 2.18 | whether memory is allocated by cuMem
NCCL_CUMEM_HOST_ENABLE | number | -1 | 2.23 | whether host memory is allocated by cuMem
NCCL_DEBUG | text | | | log level: VERSION, WARN, INFO, ABORT, TRACE
NCCL_DEBUG_FILE | file | | 2.2.12 | log file; %h is the host, %p the process
NCCL_DEBUG_SUBSYS | list | INIT,BOOTSTRAP,ENV | 2.3.4 | subsystems that log at INFO
NCCL_DEBUG_TIMESTAMP_FORMAT | text | | 2.26 | time format in the log
NCCL_DEBUG_TIMESTAMP_LEVELS | list | WARN | 2.26 | log levels with a time
NCCL_DMABUF_ENABLE | number | 1 | 2.13 | 0: no GPUDirect RDMA by DMA-BUF
NCCL_ELASTIC_BUFFER_REGISTER | number | | 2.30 | whether buffers that grow can be registered
NCCL_ENV_PLUGIN | text | | 2.28 | plugin that provides settings
NCCL_GDRCOPY_ENABLE | number | 0 | 2.9 | 1: the proxy writes to the GPU by GDRCopy
NCCL_GDRCOPY_FIFO_ENABLE | number | 1 | 2.9 | whether the FIFO is in GPU memory with GDRCopy
NCCL_GDRCOPY_FLUSH_ENABLE | number | 0 | 2.9 | whether GDRCopy flushes
NCCL_GDRCOPY_SYNC_ENABLE | number | 1 | 2.12 | whether flags are in GPU memory with GDRCopy
NCCL_GDR_FLUSH_DISABLE | number | 0 | | 1: no flush after what a NIC wrote to a GPU
NCCL_GIN_ENABLE | number | 1 | 2.28 | 0: kernels do not start network operations
NCCL_GIN_IB_TC | number | | 2.30 | the traffic class of operations that kernels start
NCCL_GIN_PLUGIN | text | | 2.29 | the plugin for operations that kernels start
NCCL_GIN_TYPE | number | | 2.28 | how kernels start network operations
NCCL_GRAPH_DUMP_FILE | file | | 2.6 | where to write the rings and trees
NCCL_GRAPH_DUMP_FILE_RANK | number | 0 | 2.6 | the rank that writes them
NCCL_GRAPH_FILE | file | | 2.6 | rings and trees to use instead of a search
NCCL_GRAPH_HELPER_DISABLE | number | 0 | 2.11 | 1: no helper thread for CUDA graphs
NCCL_GRAPH_MIXING_SUPPORT | number | 1 | 2.13 | 0: a communicator may be in one graph at a time only
NCCL_GRAPH_REGISTER | number | 1 | 2.11 | 0: no registration of buffers in CUDA graphs
NCCL_HOSTID | text | | 2.5 | host identifier used to find ranks of the same host
NCCL_IBVERBS_LIB | file | libibverbs.so | 2.30 | the verbs library
NCCL_IB_ADAPTIVE_ROUTING | number | | 2.16 | per-packet adaptive routing; on for InfiniBand
NCCL_IB_ADDR_FAMILY | text | AF_INET | 2.21 | GID address family: AF_INET, AF_INET6
NCCL_IB_ADDR_RANGE | text | | 2.21 | network of the GID, e.g. 192.0.2.0/24
NCCL_IB_AR_THRESHOLD | number | 8192 | 2.6 | message size from which adaptive routing is used
NCCL_IB_DATA_DIRECT | number | 1 | 2.27 | 0: no direct path from ConnectX-8 to the GPU
NCCL_IB_DEVICE_PCI_ORDER | number | 1 | 2.30 | 0: devices in the order of libibverbs
NCCL_IB_DISABLE | number | 0 | | 1: no RDMA, sockets only
NCCL_IB_ECE_ENABLE | number | 1 | 2.23 | 0: no enhanced connection establishment
NCCL_IB_FIFO_TC | number | | 2.22.3 | the traffic class of control messages
NCCL_IB_GID_INDEX | number | -1 | | the GID index of a RoCE port; below 0: automatic
NCCL_IB_HCA | list | | | which RDMA devices and ports to use: prefixes, = for exact names, ^ to exclude
NCCL_IB_MERGE_NICS | number | 1 | 2.20 | 0: each port of a card is its own NIC
NCCL_IB_MERGE_VFS | number | 1 | 2.18 | 0: each virtual function is its own card
NCCL_IB_MQP_RETRY_ALL | number | 0 | 2.24 | 1: retry ibv_modify_qp after any error
NCCL_IB_MQP_RETRY_CNT | number | 34 | 2.24 | retries of ibv_modify_qp
NCCL_IB_MQP_RETRY_SLEEP_MSEC | number | 100 | 2.24 | milliseconds before the first retry, n times that before the nth
NCCL_IB_OOO_RQ | number | | 2.30 | whether receives may complete out of order
NCCL_IB_PCI_RELAXED_ORDERING | number | 2 | 2.12 | 0: off; 1: on; 2: if available
NCCL_IB_PKEY | number | 0 | 2.10 | the index of the partition key
NCCL_IB_QPS_PER_CONNECTION | number | 1 | 2.10 | queue pairs between two ranks
NCCL_IB_QUERY_PORT_SPEED | number | | 2.30 | whether to query the driver for the speed of a port
NCCL_IB_RESILIENCY_PORT_FAILOVER | number | 0 | 2.30 | 1: continue on another port if one fails
NCCL_IB_RESILIENCY_PORT_RECOVERY | number | 0 | 2.30 | 1: reuse a recovered port
NCCL_IB_RETRY_CNT | number | 7 | | retries of a NIC before it gives up
NCCL_IB_RETURN_ASYNC_EVENTS | number | 1 | 2.23 | 0: only log port errors
NCCL_IB_ROCE_VERSION_NUM | number | 2 | 2.21 | RoCE version of the GID
NCCL_IB_ROUTABLE_FLID_GID_INDEX | number | 1 | 2.21 | the GID index with a FLID on InfiniBand
NCCL_IB_SL | number | 0 | | the service level
NCCL_IB_SPLIT_DATA_ON_QPS | number | 0 | 2.18 | 1: split each message over all queue pairs
NCCL_IB_SUBNET_AWARE_ROUTING | number | | 2.30 | whether connections stay within a subnet
NCCL_IB_SUBNET_PREFIX_LEN | number | | 2.30 | the bits of a GID that make its subnet
NCCL_IB_TC | number | 0 | | the traffic class; its upper six bits are the DSCP of RoCE
NCCL_IB_TIMEOUT | number | 20 | | retry after 4.096 us x 2^n
NCCL_IB_USE_INLINE | number | 0 | 2.8 | 1: send small control messages inline
NCCL_IB_WARN_RAIL_LOCAL | number | 0 | 2.24 | 1: warn if ranks connect across rails
NCCL_IGNORE_COLLNET_MISMATCH | number | 0 | 2.30 | 1: ignore different collnet devices between ranks
NCCL_IGNORE_CPU_AFFINITY | number | 0 | 2.4.6 | 1: use the CPU affinity of the GPU, ignore that of the process
NCCL_IGNORE_DISABLED_P2P | number | 0 | 2.12 | 1: continue if NVML denies P2P over NVLink
NCCL_IGNORE_NET_MISMATCH | number | 1 | 2.30 | 1: go on with different numbers of NICs between ranks; 0: fail
NCCL_L1_SHARED_MEMORY_CARVEOUT | number | 0 | 2.12 | percent of L1 used as shared memory
NCCL_LAUNCH_MODE | text | PARALLEL | 2.1 | PARALLEL or GROUP: how one process starts kernels on several GPUs
NCCL_LAUNCH_ORDER_IMPLICIT | number | 0 | 2.26 | 1: communicators run in the order in which they are called
NCCL_LAUNCH_RACE_FATAL | number | 1 | 2.26 | 0: continue if calls race
NCCL_LEGACY_CUDA_REGISTER | number | 0 | 2.24 | 1: register memory of cudaMalloc
NCCL_LL128_BUFFSIZE | number | | 2.7 | bytes of a buffer of LL128
NCCL_LL128_C2C | number | 1 | 2.27 | 0: no LL128 over chip-to-chip links
NCCL_LL128_NTHREADS | number | | 2.5 | threads of a block with LL128
NCCL_LL_BUFFSIZE | number | | 2.7 | bytes of a buffer of LL
NCCL_LOCAL_REGISTER | number | 1 | 2.19 | 0: no registration of the user's buffers
NCCL_MAX_CTAS | number | | 2.17 | the most blocks on the GPU
NCCL_MAX_NCHANNELS | number | 64 | 2.5 | the most channels
NCCL_MAX_NRINGS | number | 64 | | an older name of NCCL_MAX_NCHANNELS
NCCL_MAX_P2P_NCHANNELS | number | 64 | 2.7 | the most channels of send and receive
NCCL_MEM_SYNC_DOMAIN | number | 1 | 2.16 | memory synchronization domain
NCCL_MIN_CTAS | number | | 2.17 | the fewest blocks on the GPU
NCCL_MIN_NCHANNELS | number | 0 | 2.5 | the fewest channels
NCCL_MIN_NRINGS | number | 0 | | an older name of NCCL_MIN_NCHANNELS
NCCL_MIN_P2P_NCHANNELS | number | 1 | 2.7 | the fewest channels of send and receive
NCCL_MNNVL_CLIQUE_ID | number | -1 | 2.23 | the NVLink clique to take part in
NCCL_MNNVL_CROSS_CLIQUE | number | | 2.30 | whether cliques are joined
NCCL_MNNVL_ENABLE | number | 2 | 2.21 | NVLink between nodes: 0: off; 1: required; 2: if available
NCCL_MNNVL_UUID | number | -1 | 2.25 | the NVLink cluster to take part in
NCCL_MULTI_RANK_GPU_ENABLE | number | 0 | 2.30 | 1: several ranks may share a GPU
NCCL_NCHANNELS_PER_NET_PEER | number | | 2.9.9 | channels to each peer over the network
NCCL_NET | text | | 2.10 | the network to use: IB, Socket or a plugin's name
NCCL_NETDEVS_POLICY | text | AUTO | 2.28 | how many NICs a GPU uses: AUTO, ALL or MAX:n
NCCL_NET_DISABLE_INTRA | number | 0 | 2.12 | 1: never use the network instead of a path within the node
NCCL_NET_FORCE_FLUSH | number | 0 | 2.15 | 1: always flush after receiving
NCCL_NET_FORCE_MERGE | list | | 2.24 | NICs to merge into one
NCCL_NET_GDR_C2C | number | 1 | 2.26 | 0: no GPUDirect RDMA over a chip-to-chip link
NCCL_NET_GDR_LEVEL | level | | 2.3.4 | how far GPU and NIC may be apart for GPUDirect RDMA
NCCL_NET_GDR_READ | number | -2 | 2.4.2 | 0: no GPUDirect RDMA for sending
NCCL_NET_MERGE_LEVEL | level | PORT | 2.24 | how far apart NICs may be to be merged
NCCL_NET_MERGE_POLICY | text | | 2.30 | which NICs are merged: ALL or RAIL
NCCL_NET_OPTIONAL_RECV_COMPLETION | number | 1 | 2.24 | 0: wait for each receive over the network
NCCL_NET_OVERHEAD | number | | 2.18 | microseconds of network latency in NCCL's tuning model
NCCL_NET_PLUGIN | text | | 2.11 | the plugin for the network: a name, a file or none
NCCL_NET_SHARED_BUFFERS | number | | 2.8 | whether connections of send and receive share buffers
NCCL_NET_SHARED_COMMS | number | 1 | 2.12 | 0: channels do not share connections
NCCL_NO_CACHE | list | | 2.29 | settings read again each time
NCCL_NSOCKS_PERTHREAD | number | | 2.4.8 | sockets of a thread of the socket transport
NCCL_NTHREADS | number | | | threads of a block on the GPU
NCCL_NVB_DISABLE | number | 0 | 2.11 | 1: no path over another GPU's NVLinks
NCCL_NVB_PRECONNECT | number | 1 | 2.9 | 0: connect such paths on demand
NCCL_NVLSTREE_MAX_CHUNKSIZE | number | | 2.20 | the most bytes of a chunk of NVLS tree
NCCL_NVLS_CHUNKSIZE | number | 131072 | 2.21 | bytes of a chunk of NVLS
NCCL_NVLS_ENABLE | number | 2 | 2.17 | NVSwitch multicast: 0: off; 1: required; 2: if available
NCCL_NVLS_NCHANNELS | number | | 2.17 | channels of NVLS
NCCL_NVTX_DISABLE | number | 0 | 2.28 | 1: no ranges for profilers
NCCL_OOB_NET_ENABLE | number | 0 | 2.23 | 1: the bootstrap uses the network plugin
NCCL_OOB_NET_IFNAME | list | | 2.23 | network devices of the bootstrap plugin
NCCL_P2P_DIRECT_DISABLE | number | 0 | 2.12 | 1: no direct access between ranks of one process
NCCL_P2P_DISABLE | number | 0 | | 1: no P2P between GPUs
NCCL_P2P_LEVEL | level | | 2.3.4 | how far apart GPUs may be for P2P
NCCL_P2P_LL_THRESHOLD | number | 16384 | 2.14 | bytes up to which send and receive use LL
NCCL_P2P_NET_CHUNKSIZE | number | 131072 | 2.14 | bytes of a chunk of send and receive over the network
NCCL_P2P_NVL_CHUNKSIZE | number | 524288 | 2.16 | the same over NVLink
NCCL_P2P_PCI_CHUNKSIZE | number | 131072 | 2.16 | the same over PCIe
NCCL_P2P_PXN_LEVEL | number | 2 | 2.12 | 0 to 2: when send and receive relay through another GPU
NCCL_P2P_READ_ENABLE | number | -2 | 2.7 | whether the receiver reads instead of the sender writing
NCCL_P2P_USE_CUDA_MEMCPY | number | 0 | 2.13 | 1: copy engines carry P2P
NCCL_PAT_ENABLE | number | 2 | 2.23 | whether the algorithm PAT may be used
NCCL_PROFILER_PLUGIN | text | | 2.23 | the plugin that profiles
NCCL_PROGRESS_APPENDOP_FREQ | number | 8 | 2.16 | how often the proxy looks for new work
NCCL_PROTO | list | | 2.5 | the protocols that may be used, by collective
NCCL_PROXY_APPEND_BATCH_SIZE | number | 16 | 2.16 | operations that the proxy takes at one time
NCCL_PROXY_CPUSET | text | | 2.28 | the cores of the proxy's threads
NCCL_PROXY_DUMP_SIGNAL | number | -1 | 2.14 | signal at which the proxy dumps its state
NCCL_PXN_C2C | number | 1 | 2.27 | 0: no GPU relays over its chip-to-chip link
NCCL_PXN_DISABLE | number | 0 | 2.12 | 1: no GPU relays to a NIC
NCCL_RAS_ADDR | text | localhost:28028 | 2.24 | where the RAS service listens
NCCL_RAS_ENABLE | number | 1 | 2.24 | 0: no RAS service
NCCL_RAS_TIMEOUT_FACTOR | number | 1 | 2.24 | factor on the timeouts of the RAS service
NCCL_REPORT_CONNECT_PROGRESS | number | 0 | 2.19 | 1: log the progress of connections
NCCL_RMA_DISABLE | number | 0 | 2.30 | 1: no one-sided operations
NCCL_RUNTIME_CONNECT | number | 1 | 2.22 | 0: connect everything at start, not on demand
NCCL_SET_STACK_SIZE | number | 0 | 2.9 | 1: give the GPU's stack the size that kernels need
NCCL_SET_THREAD_NAME | number | 0 | 2.12 | 1: threads have names
NCCL_SHM_DISABLE | number | 0 | | 1: no shared memory between ranks of a host
NCCL_SHM_LOCALITY | number | 2 | 2.13 | 1: shared segments at the sender; 2: at the receiver
NCCL_SINGLE_PROC_MEM_REG_ENABLE | number | 0 | 2.28 | 1: one thread may register for several GPUs
NCCL_SOCKET_FAMILY | text | | 2.12 | AF_INET or AF_INET6: the addresses to use
NCCL_SOCKET_IFNAME | list | | | which interfaces to use: prefixes, = for exact names, ^ to exclude
NCCL_SOCKET_INLINE | number | 128 | 2.27 | bytes sent inline with a message header
NCCL_SOCKET_MIN_TASKSIZE | number | 65536 | 2.27 | message size from which several sockets are used
NCCL_SOCKET_NTHREADS | number | -2 | 2.4.8 | threads of the socket transport for a connection
NCCL_SOCKET_POLL_TIMEOUT_MSEC | number | 0 | 2.28 | milliseconds to wait in poll
NCCL_SOCKET_RCVBUF | number | -1 | 2.27 | bytes of the receiving buffer of a socket
NCCL_SOCKET_RETRY_CNT | number | 34 | 2.24 | connection retries
NCCL_SOCKET_RETRY_SLEEP_MSEC | number | 100 | 2.24 | milliseconds between two retries
NCCL_SOCKET_SNDBUF | number | -1 | 2.27 | bytes of the sending buffer of a socket
NCCL_SYM_CTAS | number | 0 | 2.27 | blocks of kernels on symmetric memory
NCCL_SYM_KERNEL | text | | 2.27 | the kernel on symmetric memory
NCCL_THREAD_THRESHOLDS | text | | 2.5 | bytes a thread from which more threads take part
NCCL_TOPO_DUMP_FILE | file | | 2.6 | where to write the topology
NCCL_TOPO_DUMP_FILE_RANK | number | 0 | 2.6 | the rank that writes it
NCCL_TOPO_FILE | file | | 2.6 | the topology file to start from
NCCL_TUNER_PLUGIN | text | | 2.18 | the plugin that chooses algorithms
NCCL_UID_STAGGER_RATE | number | 7000 | 2.23 | ranks per second that connect to the root
NCCL_UID_STAGGER_THRESHOLD | number | 256 | 2.23 | number of ranks from which connections are staggered
NCCL_UNPACK_DOUBLE_NCHANNELS | number | 1 | 2.22 | 0: no doubled channels with a network that unpacks on the GPU
NCCL_WARN_ENABLE_DEBUG_INFO | number | 0 | 2.19 | 1: print more once a warning was printed
NCCL_WIN_ENABLE | number | 1 | 2.27 | 0: no symmetric memory windows
NCCL_WIN_STRIDE | number | -1 | 2.27 | bytes of address space of each rank in windows
NCCL_WORK_ARGS_BYTES | number | | 2.22 | bytes of work that a kernel's arguments hold
NCCL_WORK_FIFO_BYTES | number | 1048576 | 2.22 | bytes of the queue of work
""") | _undocumented("""
- | NCCL_GIN_GDAKI_GPU_CONTEXT_MAX_SIZE
2.27 | NCCL_MNNVL_SCATTER_NETS_ENABLE NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE
2.28 | NCCL_GIN_ERROR_QUERY_SEC NCCL_GIN_GDAKI_NIC_HANDLER NCCL_GIN_GDAKI_QP_DEPTH NCCL_GIN_PROXY_QUEUE_SIZE
2.28 | NCCL_MNNVL_RAIL_PER_HOST NCCL_P2P_SCHEDULE_GROUP_SIZE NCCL_SET_CPU_STACK_SIZE
2.29 | NCCL_DISABLE_MEM_MANAGER NCCL_ENABLE_VERSION_CHECK NCCL_GDAKI_USE_RELIABLE_DB NCCL_GIN_NCONNECTIONS
2.29 | NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS NCCL_IB_RECEIVER_SIDE_MATCHING_SCHEME
2.29 | NCCL_IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS NCCL_IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY
2.29 | NCCL_IPC_USE_ABSTRACT_SOCKET NCCL_LSA_TEAM_SIZE NCCL_MULTI_SEGMENT_REGISTER NCCL_NUM_RMA_CTX
2.29 | NCCL_P2P_EPOCH_ENABLE NCCL_P2P_PER_CHANNEL_NET_BW NCCL_RMA_PROXY_DUMP_SIGNAL NCCL_RMA_PROXY_QUEUE_SIZE
2.29 | NCCL_SYM_CE_THRESHOLD NCCL_SYM_GIN_KERNELS_ENABLE NCCL_SYM_NOWIN_ENABLE
2.30 | NCCL_DEV_API_JIT NCCL_GIN_GDAKI_MAX_DEST_RD_ATOMIC NCCL_GIN_GDAKI_MAX_QP_RD_ATOMIC
2.30 | NCCL_GRAPH_STREAM_ORDERING NCCL_IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT
2.30 | NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_INTERVAL NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_SIZE
2.30 | NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_SEQUENCE_SIZE NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_TIMEOUT
2.30 | NCCL_IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX NCCL_IB_RESILIENCY_PORT_RECOVERY_START_DELAY
2.30 | NCCL_MLOPART_RDMA_ENABLE NCCL_NET_GDR_MLOPART NCCL_P2P_MAX_PEERS NCCL_RMA_PLUGIN NCCL_SHADOW_MEMPOOL_MAX_SIZE
2.30 | NCCL_SYM_REUSE_SYSMEM_HANDLES NCCL_SYM_RS_GIN_CHUNK_SIZE NCCL_SYM_TMA_ENABLE NCCL_TOPO_SPLIT_MLOPART
""")
"""All settings by name; the last ones are undocumented, but NCCL 2.30 reads them."""
