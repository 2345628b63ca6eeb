# SPDX-License-Identifier: Apache-2.0
"""RDMA ports: their state, rate, errors, MTU and GIDs."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern
from railgauge.topo.findings.completions import ended_with

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
        Pattern(
            r"\bNIC \d+ STATE = (?!ACTIVE)\w",
            WARN,
            "libfabric's PSM3 finds a NIC whose port is not up",
        ),
        Pattern(
            r"no (?:hfi|nic) units are active",
            FAIL,
            "MPI finds Omni-Path devices of which no port is up",
        ),
        Pattern(
            r"no active ports detected",
            WARN,
            "MPI finds RDMA devices of which no port is up for it, and goes on with another network",
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
            ended_with(13),
            FAIL,
            "a NIC's peer had no receive posted (status 13, RNR): the other rank stands still or has ended",
        ),
        Pattern(
            r"Got completion|CQE error\b.*\bstatus=\d|Unsupported completion status|ibv_poll_cq"
            r"|completion with error: \w|\bFailed status \d"
            r"|ib_mlx5_log\.c:\d+ +(?!.*\bQP )",
            FAIL,
            "a NIC ended an operation with an error",
            general=1,
        ),
        Pattern(
            r"async (?:fatal |error )?event|ibv_get_async_event",
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
        "NCCL WARN NET/IB: Got completion from peer 10.0.0.4<50396> with status=IBV_WC_LOC_LEN_ERR(1) opcode=128",
    ),
    shared_with=("gid-index-invalid", "rail-unreachable"),
    patterns=(
        Pattern(
            rf"{ended_with(1)}|\blocal length error\b",
            FAIL,
            "a message was longer than a NIC expected (status 1, local length error): mostly the two ends have "
            "different MTUs, which NCCL does not adjust",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/1814", "https://github.com/NVIDIA/nccl/issues/1405"),
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
            r"GID table change|GID_CHANGE",
            WARN,
            "the addresses of a NIC changed while the job ran: connections by a GID that went break, and end with "
            "status 12",
        ),
        Pattern(
            r"[Nn]o suitable GID found|GID index \d+ on \S+ has no associated network device|RoCE v2 GID not found",
            FAIL,
            "a program finds no GID that it can use, or was given an index whose entry has no interface here: another "
            "network namespace, or no address",
        ),
        Pattern(
            r"ibv_modify_qp failed.*(?:timed out|\b110\b)(?!.*remote GID ::ffff:)"
            r"|\bstatus: 110\b.*ibv_modify_qp failed",
            FAIL,
            "two NICs cannot reach each other by the GIDs that were chosen: nothing answers at the peer's address",
        ),
        Pattern(
            r"ibv_modify_qp failed.*(?:Invalid argument|\b22\b)|\bstatus: 22\b.*ibv_modify_qp failed",
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
    levels=(INFO, WARN, FAIL, UNKNOWN),
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
            r"(?:read|open) failed in \w*(?:RoceGetVersionNum|GetGid\w*)|Unable to query GID|ibv_query_gid failed"
            r"|Invalid gid\[\d+\]",
            FAIL,
            "an entry of a GID table cannot be read, as in a pod whose table has holes",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/1131", "https://github.com/NVIDIA/nccl/issues/2157"),
)
