# SPDX-License-Identifier: Apache-2.0
"""The settings that NCCL reads, and those that it once read.

Names and defaults are those of NCCL 2.30 (its NCCL_PARAM and ncclGetEnv); releases from the environment variables in
NVIDIA's documentation, "" where it tells none.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum


class Kind(StrEnum):
    """What a value is: a number as strtoll reads it, a text from a set, a list, a path type, a file, a size."""

    NUMBER = "number"
    TEXT = "text"
    LIST = "list"
    LEVEL = "level"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One setting. default: what NCCL goes by without it, "" where it decides by the machine. since: the first
    release that reads it. least, most: what a number may be, None without a bound.
    """

    name: str
    kind: Kind
    default: str
    since: str
    meaning: str
    least: int | None = None
    most: int | None = None


def nearest(name: str) -> str | None:
    """The setting whose name is most like another text; None where none is near."""
    wanted = name.strip().upper()
    found = get_close_matches(wanted, [*KNOWN], 1, 0.85)
    return wanted if wanted in KNOWN else found[0] if found else None


def _parsed(table: str) -> dict[str, Known]:
    rows = [[part.strip() for part in line.split("|")] for line in table.strip().splitlines()]
    return {row[0]: _known(*row) for row in rows}


def _untold(names: str) -> dict[str, Known]:
    meaning = "NCCL reads it, and no document tells what it does"
    return {name: Known(name=name, kind=Kind.TEXT, default="", since="", meaning=meaning) for name in names.split()}


def _known(name: str, kind: str, default: str, since: str, meaning: str) -> Known:
    least, most = BOUNDS.get(name, (None, None))
    return Known(name=name, kind=Kind(kind), default=default, since=since, meaning=meaning, least=least, most=most)


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
    "NCCL_RINGS": "rings are searched for since 2.5; NCCL_GRAPH_FILE gives them",
    "NCCL_LL_THRESHOLD": "since 2.5 NCCL chooses by size itself; NCCL_PROTO limits the choice",
    "NCCL_TREE_THRESHOLD": "since 2.5 NCCL chooses by size itself; NCCL_ALGO limits the choice",
    "NCCL_SINGLE_RING_THRESHOLD": "gone since 2.5",
    "NCCL_IB_CUDA_SUPPORT": "NCCL_NET_GDR_LEVEL took its place in 2.4",
    "NCCL_IB_GDR_LEVEL": "NCCL_NET_GDR_LEVEL took its place",
    "NCCL_SHM_USE_CUDA_MEMCPY": "2.30 has it no more",
    "NCCL_CHECKS_DISABLE": "NCCL_CHECK_POINTERS took its place in 2.2",
}
"""Settings of older releases that NCCL no longer reads, and what is there instead."""

KNOWN = _parsed("""
NCCL_ALGO | list | | 2.5 | the algorithms that may be used, by collective
NCCL_ALLGATHERV_ENABLE | number | 1 | | 0: no all-gather of different sizes in one kernel
NCCL_ALLOC_P2P_NET_LL_BUFFERS | number | 0 | 2.14 | 1: each connection over the network has buffers of its own for LL
NCCL_BUFFSIZE | number | 4194304 | | bytes of a buffer between two ranks
NCCL_CGA_CLUSTER_SIZE | number | | 2.16 | blocks of a cluster on the GPU, 0 to 8
NCCL_CHECK_MODE | text | | | how far arguments are checked
NCCL_CHECK_POINTERS | number | 0 | 2.2.12 | 1: check each pointer on each call
NCCL_CHUNK_SIZE | number | | | bytes of a chunk
NCCL_COLLNET_ENABLE | number | 0 | 2.6 | 1: reductions in the network (SHARP) where a plugin does them
NCCL_COLLNET_NODE_THRESHOLD | number | 2 | 2.9.9 | nodes from which the network reduces
NCCL_COMM_BLOCKING | number | | 2.14 | whether calls wait until a communicator is ready
NCCL_COMM_ID | text | | | address and port of the bootstrap's root
NCCL_COMM_SHRINK_SHARE_RESOURCES | number | | | whether a shrunk communicator shares what its parent has
NCCL_COMM_SPLIT_SHARE_RESOURCES | number | | | whether a split communicator shares what its parent has
NCCL_CONF_FILE | file | | 2.23 | the file of settings to read in place of ~/.nccl.conf
NCCL_CONNECT_ROUND_MAX_PEERS | number | 128 | | peers to connect to at one time
NCCL_CROSS_NIC | number | 2 | | whether a ring may leave by another NIC than it came in by
NCCL_CTA_POLICY | text | DEFAULT | | whether to save blocks of the GPU
NCCL_CUMEM_ENABLE | number | -2 | 2.18 | whether memory is allocated by cuMem
NCCL_CUMEM_HOST_ENABLE | number | -1 | 2.23 | whether host memory is allocated by cuMem
NCCL_DEBUG | text | | | how much NCCL prints: VERSION, WARN, INFO, ABORT, TRACE
NCCL_DEBUG_FILE | file | | 2.2.12 | where NCCL prints to; %h is the host, %p the process
NCCL_DEBUG_SUBSYS | list | INIT,BOOTSTRAP,ENV | 2.3.4 | which parts print at INFO
NCCL_DEBUG_TIMESTAMP_FORMAT | text | | 2.26 | how times are printed
NCCL_DEBUG_TIMESTAMP_LEVELS | list | WARN | 2.26 | which lines have a time
NCCL_DMABUF_ENABLE | number | 1 | 2.13 | 0: no GPUDirect RDMA by DMA-BUF
NCCL_ELASTIC_BUFFER_REGISTER | number | | | whether buffers that grow can be registered
NCCL_ENV_PLUGIN | text | | 2.28 | the plugin that tells settings
NCCL_GDRCOPY_ENABLE | number | 0 | | 1: the proxy writes to the GPU by GDRCopy
NCCL_GDRCOPY_FIFO_ENABLE | number | 1 | | whether the FIFO lies in GPU memory with GDRCopy
NCCL_GDRCOPY_FLUSH_ENABLE | number | 0 | | whether GDRCopy flushes
NCCL_GDRCOPY_SYNC_ENABLE | number | 1 | | whether flags lie in GPU memory with GDRCopy
NCCL_GDR_FLUSH_DISABLE | number | 0 | | 1: no flush after what a NIC wrote to a GPU
NCCL_GIN_ENABLE | number | 1 | | 0: kernels do not start network operations
NCCL_GIN_IB_TC | number | | | the traffic class of operations that kernels start
NCCL_GIN_PLUGIN | text | | | the plugin for operations that kernels start
NCCL_GIN_TYPE | number | | | how kernels start network operations
NCCL_GRAPH_DUMP_FILE | file | | 2.6 | where to write the rings and trees
NCCL_GRAPH_DUMP_FILE_RANK | number | 0 | | the rank that writes them
NCCL_GRAPH_FILE | file | | 2.6 | rings and trees to take in place of searching
NCCL_GRAPH_HELPER_DISABLE | number | 0 | | 1: no helper thread for CUDA graphs
NCCL_GRAPH_MIXING_SUPPORT | number | 1 | 2.13 | 0: a communicator is not in several graphs at a time
NCCL_GRAPH_REGISTER | number | 1 | 2.11 | 0: no registration of buffers in CUDA graphs
NCCL_HOSTID | text | | | what stands for the host when ranks of one host are found
NCCL_IBVERBS_LIB | file | libibverbs.so | | the library of verbs
NCCL_IB_ADAPTIVE_ROUTING | number | | 2.16 | whether the network routes each packet for itself; on for InfiniBand
NCCL_IB_ADDR_FAMILY | text | AF_INET | 2.21 | the family of GID that is wanted: AF_INET, AF_INET6
NCCL_IB_ADDR_RANGE | text | | 2.21 | the network that the GID has to be of, 192.0.2.0/24
NCCL_IB_AR_THRESHOLD | number | 8192 | | bytes from which adaptive routing is used
NCCL_IB_DATA_DIRECT | number | 1 | 2.27 | 0: no direct path from ConnectX-8 to the GPU
NCCL_IB_DEVICE_PCI_ORDER | number | 1 | 2.30 | 0: devices in the order of libibverbs
NCCL_IB_DISABLE | number | 0 | | 1: no RDMA, sockets only
NCCL_IB_ECE_ENABLE | number | 1 | 2.23 | 0: no enhanced connection establishment
NCCL_IB_FIFO_TC | number | | 2.22.3 | the traffic class of control messages
NCCL_IB_GID_INDEX | number | -1 | | the GID of a RoCE port by its index; below 0 NCCL chooses
NCCL_IB_HCA | list | | | which RDMA devices and ports to use: prefixes, = for whole names, ^ to leave out
NCCL_IB_MERGE_NICS | number | 1 | 2.20 | 0: the ports of a card are NICs of their own
NCCL_IB_MERGE_VFS | number | 1 | | 0: virtual functions are cards of their own
NCCL_IB_MQP_RETRY_ALL | number | 0 | | 1: try again after any error of ibv_modify_qp
NCCL_IB_MQP_RETRY_CNT | number | 34 | | times to try ibv_modify_qp again
NCCL_IB_MQP_RETRY_SLEEP_MSEC | number | 100 | | milliseconds before the first of them, so many more before each next
NCCL_IB_OOO_RQ | number | | | whether receives may complete out of order
NCCL_IB_PCI_RELAXED_ORDERING | number | 2 | 2.12 | 0: no relaxed ordering; 1: with; 2: where it is there
NCCL_IB_PKEY | number | 0 | 2.10 | the index of the partition key
NCCL_IB_QPS_PER_CONNECTION | number | 1 | 2.10 | queue pairs between two ranks
NCCL_IB_QUERY_PORT_SPEED | number | | | whether the driver is asked for the speed of a port
NCCL_IB_RESILIENCY_PORT_FAILOVER | number | 0 | 2.30 | 1: go on over another port when one fails
NCCL_IB_RESILIENCY_PORT_RECOVERY | number | 0 | 2.30 | 1: take a failed port back
NCCL_IB_RETRY_CNT | number | 7 | | times that a NIC sends again before it gives up
NCCL_IB_RETURN_ASYNC_EVENTS | number | 1 | 2.23 | 0: errors of a port are printed and nothing more
NCCL_IB_ROCE_VERSION_NUM | number | 2 | 2.21 | the version of RoCE that the GID has to be of
NCCL_IB_ROUTABLE_FLID_GID_INDEX | number | 1 | 2.21 | the GID that carries a FLID on InfiniBand
NCCL_IB_SL | number | 0 | | the service level
NCCL_IB_SPLIT_DATA_ON_QPS | number | 0 | 2.18 | 1: each message goes over all queue pairs
NCCL_IB_SUBNET_AWARE_ROUTING | number | | | whether connections stay within a subnet
NCCL_IB_SUBNET_PREFIX_LEN | number | | | the bits of a GID that make its subnet
NCCL_IB_TC | number | 0 | | the traffic class, of which the upper six bits are RoCE's DSCP
NCCL_IB_TIMEOUT | number | 20 | | after 4.096 us x 2^n without an answer a NIC sends again
NCCL_IB_USE_INLINE | number | 0 | | 1: small control messages lie in the work request
NCCL_IB_WARN_RAIL_LOCAL | number | 0 | | 1: say when ranks connect across rails
NCCL_IGNORE_COLLNET_MISMATCH | number | 0 | | 1: go on where ranks have different collnet devices
NCCL_IGNORE_CPU_AFFINITY | number | 0 | 2.4.6 | 1: go by the GPU's cores alone, not by the process's
NCCL_IGNORE_DISABLED_P2P | number | 0 | | 1: go on where NVML denies P2P over NVLink
NCCL_IGNORE_NET_MISMATCH | number | 0 | | 1: go on where ranks have different numbers of NICs
NCCL_L1_SHARED_MEMORY_CARVEOUT | number | 0 | | per cent of L1 for shared memory
NCCL_LAUNCH_MODE | text | PARALLEL | 2.1 | PARALLEL or GROUP: how one process starts kernels on several GPUs
NCCL_LAUNCH_ORDER_IMPLICIT | number | 0 | 2.26 | 1: communicators run in the order in which they are called
NCCL_LAUNCH_RACE_FATAL | number | 1 | 2.26 | 0: go on where calls race
NCCL_LEGACY_CUDA_REGISTER | number | 0 | 2.24 | 1: register memory of cudaMalloc
NCCL_LL128_BUFFSIZE | number | | | bytes of a buffer of LL128
NCCL_LL128_C2C | number | 1 | | 0: no LL128 over chip-to-chip links
NCCL_LL128_NTHREADS | number | | | threads of a block with LL128
NCCL_LL_BUFFSIZE | number | | | bytes of a buffer of LL
NCCL_LOCAL_REGISTER | number | 1 | 2.19 | 0: no registration of the user's buffers
NCCL_MAX_CTAS | number | | 2.17 | the most blocks on the GPU
NCCL_MAX_NCHANNELS | number | 64 | 2.5 | the most channels
NCCL_MAX_NRINGS | number | 64 | | an older name of NCCL_MAX_NCHANNELS
NCCL_MAX_P2P_NCHANNELS | number | 64 | | the most channels of send and receive
NCCL_MEM_SYNC_DOMAIN | number | 1 | | the domain in which memory is kept in order
NCCL_MIN_CTAS | number | | 2.17 | the fewest blocks on the GPU
NCCL_MIN_NCHANNELS | number | 0 | 2.5 | the fewest channels
NCCL_MIN_NRINGS | number | 0 | | an older name of NCCL_MIN_NCHANNELS
NCCL_MIN_P2P_NCHANNELS | number | 1 | | the fewest channels of send and receive
NCCL_MNNVL_CLIQUE_ID | number | -1 | | the NVLink clique to take part in
NCCL_MNNVL_CROSS_CLIQUE | number | | | whether cliques are joined
NCCL_MNNVL_ENABLE | number | 2 | 2.21 | 0: no NVLink between nodes; 1: or fail; 2: where it is there
NCCL_MNNVL_UUID | number | -1 | | the NVLink cluster to take part in
NCCL_MULTI_RANK_GPU_ENABLE | number | 0 | | 1: several ranks may share a GPU
NCCL_NCHANNELS_PER_NET_PEER | number | | 2.9.9 | channels to each peer over the network
NCCL_NET | text | | 2.10 | the network to use: IB, Socket or a plugin's name
NCCL_NETDEVS_POLICY | text | AUTO | 2.28 | how many NICs a GPU uses: AUTO, ALL or MAX:n
NCCL_NET_DISABLE_INTRA | number | 0 | | 1: the network never takes the place of a path within the node
NCCL_NET_FORCE_FLUSH | number | 0 | | 1: flush after receiving, also where it is not needed
NCCL_NET_FORCE_MERGE | list | | 2.24 | NICs to join into one
NCCL_NET_GDR_C2C | number | 1 | 2.26 | 0: no GPUDirect RDMA over a chip-to-chip link
NCCL_NET_GDR_LEVEL | level | | 2.3.4 | how far GPU and NIC may be apart for GPUDirect RDMA
NCCL_NET_GDR_READ | number | -2 | 2.4.2 | 0: no GPUDirect RDMA for sending
NCCL_NET_MERGE_LEVEL | level | PORT | 2.24 | how far NICs may be apart to be joined into one
NCCL_NET_MERGE_POLICY | text | | | which NICs are joined: ALL or RAIL
NCCL_NET_OPTIONAL_RECV_COMPLETION | number | 1 | | 0: wait for each receive over the network
NCCL_NET_OVERHEAD | number | | | microseconds that NCCL counts for the network when it chooses
NCCL_NET_PLUGIN | text | | 2.11 | the plugin for the network: a name, a file or none
NCCL_NET_SHARED_BUFFERS | number | | 2.8 | whether connections of send and receive share buffers
NCCL_NET_SHARED_COMMS | number | 1 | 2.12 | 0: channels do not share connections
NCCL_NO_CACHE | list | | | settings that are read anew each time
NCCL_NSOCKS_PERTHREAD | number | | 2.4.8 | sockets of a thread of the socket transport
NCCL_NTHREADS | number | | | threads of a block on the GPU
NCCL_NVB_DISABLE | number | 0 | 2.11 | 1: no path over another GPU's NVLinks
NCCL_NVB_PRECONNECT | number | 1 | | 0: such paths are connected when they are needed
NCCL_NVLSTREE_MAX_CHUNKSIZE | number | | | the most bytes of a chunk of NVLS tree
NCCL_NVLS_CHUNKSIZE | number | 131072 | | bytes of a chunk of NVLS
NCCL_NVLS_ENABLE | number | 2 | 2.17 | 0: no multicast in NVSwitches; 1: or fail; 2: where it is there
NCCL_NVLS_NCHANNELS | number | | | channels of NVLS
NCCL_NVTX_DISABLE | number | 0 | | 1: no ranges for profilers
NCCL_OOB_NET_ENABLE | number | 0 | 2.23 | 1: the bootstrap uses the network plugin
NCCL_OOB_NET_IFNAME | list | | 2.23 | the devices that it then uses
NCCL_P2P_DIRECT_DISABLE | number | 0 | | 1: ranks of one process do not write to each other directly
NCCL_P2P_DISABLE | number | 0 | | 1: no P2P between GPUs
NCCL_P2P_LEVEL | level | | 2.3.4 | how far apart GPUs may be for P2P
NCCL_P2P_LL_THRESHOLD | number | 16384 | 2.14 | bytes up to which send and receive use LL
NCCL_P2P_NET_CHUNKSIZE | number | 131072 | 2.14 | bytes of a chunk of send and receive over the network
NCCL_P2P_NVL_CHUNKSIZE | number | 524288 | | the same over NVLink
NCCL_P2P_PCI_CHUNKSIZE | number | 131072 | | the same over PCIe
NCCL_P2P_PXN_LEVEL | number | 2 | 2.12 | 0 to 2: when send and receive go through another GPU to its NIC
NCCL_P2P_READ_ENABLE | number | -2 | | whether the receiver reads in place of the sender writing
NCCL_P2P_USE_CUDA_MEMCPY | number | 0 | | 1: copy engines carry P2P
NCCL_PAT_ENABLE | number | 2 | 2.23 | whether the algorithm PAT may be used
NCCL_PROFILER_PLUGIN | text | | 2.23 | the plugin that profiles
NCCL_PROGRESS_APPENDOP_FREQ | number | 8 | | how often the proxy looks for new work
NCCL_PROTO | list | | 2.5 | the protocols that may be used, by collective
NCCL_PROXY_APPEND_BATCH_SIZE | number | 16 | | operations that the proxy takes at one time
NCCL_PROXY_CPUSET | text | | | the cores of the proxy's threads
NCCL_PROXY_DUMP_SIGNAL | number | -1 | | the signal at which the proxy tells its state
NCCL_PXN_C2C | number | 1 | | 0: no GPU relays over its chip-to-chip link
NCCL_PXN_DISABLE | number | 0 | 2.12 | 1: no GPU relays to a NIC
NCCL_RAS_ADDR | text | localhost:28028 | 2.24 | where the RAS service listens
NCCL_RAS_ENABLE | number | 1 | 2.24 | 0: no RAS service
NCCL_RAS_TIMEOUT_FACTOR | number | 1 | 2.24 | what the RAS service's times are multiplied by
NCCL_REPORT_CONNECT_PROGRESS | number | 0 | | 1: print how connecting goes
NCCL_RMA_DISABLE | number | 0 | | 1: no one-sided operations
NCCL_RUNTIME_CONNECT | number | 1 | 2.22 | 0: connect all at the start, not when it is needed
NCCL_SET_STACK_SIZE | number | 0 | 2.9 | 1: give the GPU's stack the size that kernels need
NCCL_SET_THREAD_NAME | number | 0 | 2.12 | 1: threads have names
NCCL_SHM_DISABLE | number | 0 | | 1: no shared memory between ranks of a host
NCCL_SHM_LOCALITY | number | 2 | | 1: a segment lies at the sender, 2: at the receiver
NCCL_SINGLE_PROC_MEM_REG_ENABLE | number | 0 | 2.28 | 1: one thread may register for several GPUs
NCCL_SOCKET_FAMILY | text | | 2.12 | AF_INET or AF_INET6: the addresses to use
NCCL_SOCKET_IFNAME | list | | | which interfaces to use: prefixes, = for whole names, ^ to leave out
NCCL_SOCKET_INLINE | number | 128 | | bytes that are sent with a message's header
NCCL_SOCKET_MIN_TASKSIZE | number | 65536 | | bytes from which a message goes over several sockets
NCCL_SOCKET_NTHREADS | number | -2 | 2.4.8 | threads of the socket transport for a connection
NCCL_SOCKET_POLL_TIMEOUT_MSEC | number | 0 | 2.28 | milliseconds to wait in poll
NCCL_SOCKET_RCVBUF | number | -1 | | bytes of the receiving buffer of a socket
NCCL_SOCKET_RETRY_CNT | number | 34 | 2.24 | times to try to connect
NCCL_SOCKET_RETRY_SLEEP_MSEC | number | 100 | 2.24 | milliseconds between two of them
NCCL_SOCKET_SNDBUF | number | -1 | | bytes of the sending buffer of a socket
NCCL_SYM_CTAS | number | 0 | | blocks of kernels on symmetric memory
NCCL_SYM_KERNEL | text | | | the kernel on symmetric memory
NCCL_THREAD_THRESHOLDS | text | | | bytes a thread from which more threads take part
NCCL_TOPO_DUMP_FILE | file | | 2.6 | where to write the topology
NCCL_TOPO_DUMP_FILE_RANK | number | 0 | | the rank that writes it
NCCL_TOPO_FILE | file | | 2.6 | the topology to begin with
NCCL_TUNER_PLUGIN | text | | 2.18 | the plugin that chooses algorithms
NCCL_UID_STAGGER_RATE | number | 7000 | 2.23 | ranks a second that meet at the root
NCCL_UID_STAGGER_THRESHOLD | number | 256 | 2.23 | ranks from which they come one after the other
NCCL_UNPACK_DOUBLE_NCHANNELS | number | 1 | | 0: no doubled channels with a network that unpacks on the GPU
NCCL_WARN_ENABLE_DEBUG_INFO | number | 0 | | 1: print more once a warning was printed
NCCL_WIN_ENABLE | number | 1 | 2.27 | 0: no windows on symmetric memory
NCCL_WIN_STRIDE | number | -1 | | bytes of address space of each rank in windows
NCCL_WORK_ARGS_BYTES | number | | | bytes of work that a kernel's arguments hold
NCCL_WORK_FIFO_BYTES | number | 1048576 | | bytes of the queue of work
""") | _untold("""
NCCL_DEV_API_JIT NCCL_DISABLE_MEM_MANAGER NCCL_ENABLE_VERSION_CHECK NCCL_GDAKI_USE_RELIABLE_DB
NCCL_GIN_ERROR_QUERY_SEC NCCL_GIN_GDAKI_GPU_CONTEXT_MAX_SIZE NCCL_GIN_GDAKI_MAX_DEST_RD_ATOMIC
NCCL_GIN_GDAKI_MAX_QP_RD_ATOMIC NCCL_GIN_GDAKI_NIC_HANDLER NCCL_GIN_GDAKI_QP_DEPTH NCCL_GIN_NCONNECTIONS
NCCL_GIN_PROXY_QUEUE_SIZE NCCL_GRAPH_STREAM_ORDERING NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS
NCCL_IB_RECEIVER_SIDE_MATCHING_SCHEME NCCL_IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS
NCCL_IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY NCCL_IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT
NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_INTERVAL NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_SIZE
NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_SEQUENCE_SIZE NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_TIMEOUT
NCCL_IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX NCCL_IB_RESILIENCY_PORT_RECOVERY_START_DELAY NCCL_LSA_TEAM_SIZE
NCCL_MLOPART_RDMA_ENABLE NCCL_MNNVL_RAIL_PER_HOST NCCL_MNNVL_SCATTER_NETS_ENABLE NCCL_MULTI_SEGMENT_REGISTER
NCCL_NET_GDR_MLOPART NCCL_NUM_RMA_CTX NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE NCCL_P2P_EPOCH_ENABLE
NCCL_P2P_PER_CHANNEL_NET_BW NCCL_P2P_SCHEDULE_GROUP_SIZE NCCL_RMA_PLUGIN NCCL_RMA_PROXY_DUMP_SIGNAL
NCCL_RMA_PROXY_QUEUE_SIZE NCCL_SET_CPU_STACK_SIZE NCCL_SHADOW_MEMPOOL_MAX_SIZE NCCL_SYM_CE_THRESHOLD
NCCL_SYM_GIN_KERNELS_ENABLE NCCL_SYM_NOWIN_ENABLE NCCL_SYM_REUSE_SYSMEM_HANDLES NCCL_SYM_RS_GIN_CHUNK_SIZE
NCCL_SYM_TMA_ENABLE NCCL_TOPO_SPLIT_MLOPART
""")
"""All of them by name; of the last ones no document tells more than that NCCL 2.30 reads them."""
