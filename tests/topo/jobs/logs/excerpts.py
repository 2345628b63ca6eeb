# SPDX-License-Identifier: Apache-2.0
"""Logs as jobs write them, shortened, with what they have to be judged as: name -> (text, rdma, gdr, ids found)."""


def said(host, *texts, rank=0):
    """Lines of a rank of a host."""
    return "".join(f"{host}:{100 + rank}:{200 + rank} [{rank}] NCCL INFO {text}\n" for text in texts)


def init(rank, size, bus_id="1b000", comm="0xc0ffee"):
    return (
        f"ncclCommInitRank comm 0x5{rank:03x} rank {rank} nranks {size} cudaDev {rank} nvmlDev {rank} busId {bus_id} "
        f"commId {comm} - Init START"
    )


USING = "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>"
HEALTHY = (
    said("gpu-01", "NCCL version 2.27.5+cuda12.9", USING, "Using network IB", init(0, 2))
    + said("gpu-02", "NCCL version 2.27.5+cuda12.9", USING, "Using network IB", init(1, 2), rank=1)
    + said(
        "gpu-01",
        "Channel 00/02 :    0   1",
        "Channel 01/02 :    0   1",
        "Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1",
        "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA",
        "Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA",
        "2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer",
    )
    + said(
        "gpu-02",
        "Trees [0] -1/-1/-1->1->0 [1] 0/-1/-1->1->-1",
        "Channel 01/0 : 1[1] -> 0[0] [send] via NET/IB/1/GDRDMA",
        "2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer",
        rank=1,
    )
)
LOGS = {
    "healthy": (HEALTHY, "yes", "yes", []),
    "2.4": (
        "NCCL version 2.4.8+cuda10.1\n"
        + said("a", "comm 0x7f00 rank 0 nranks 2 cudaDev 0 nvmlDev 0 - Init COMPLETE")
        + said("a", "Ring 00 : 0[0] -> 1[1] via P2P/IPC", "Ring 00 : 1 -> 0 [receive] via NET/IB/0/GDRDMA"),
        "yes",
        "yes",
        [],
    ),
    "2.8 on one node": (
        "".join(
            said(
                "a", f"comm 0x7f{rank} rank {rank} nranks 2 cudaDev {rank} busId 1{rank}000 - Init COMPLETE", rank=rank
            )
            for rank in range(2)
        )
        + said("a", "Channel 00 : 0[10000] -> 1[11000] via direct shared memory"),
        "unneeded",
        "unknown",
        ["p2p-unsupported"],
    ),
    "RCCL": (
        said("a", "RCCL version : 2.26.6-HEAD:f224e2c")
        + said("a", "Channel 00/0 : 3[1e000] -> 0[b000] via P2P/direct pointer comm 0x588ff95e26d0 nRanks 04")
        + '[2026-08-23 09:56:58] a:100:200 [0] /init.cc:213 NCCL WARN Missing "iommu=pt" from kernel command line\n',
        "unknown",
        "unknown",
        ["iommu-translating"],
    ),
    "no RDMA in a container": (
        said("a", "NET/IB : No device found.", "NET/Socket : Using [0]eth0:10.1.1.1<0>", "Using network Socket"),
        "no",
        "unknown",
        ["verbs-device-missing"],
    ),
    "sockets between nodes": (
        said(
            "a", "Channel 01/0 : 8[0] -> 15[7] via P2P/IPC/read", "Channel 03/0 : 15[7] -> 6[6] [send] via NET/Socket/3"
        ),
        "no",
        "no",
        ["verbs-device-missing"],
    ),
    "one node with sockets": (
        said("a", "Channel 00/0 : 1[1] -> 0[0] [send] via NET/IB/0/GDRDMA")
        + said("b", "Channel 00/0 : 2[1] -> 0[0] [send] via NET/Socket/0"),
        "partly",
        "yes",
        ["nodes-differ"],
    ),
    "RDMA without GDR": (
        said(
            "a",
            "Channel 03/0 : 5[5] -> 12[4] [send] via NET/IB/3",
            "Channel 05/0 : 6[6] -> 3[3] via P2P/direct pointer/read",
        ),
        "yes",
        "no",
        ["peermem-missing"],
    ),
    "GDR turned off by its module": (
        said("a", "Using network IB", "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"),
        "chosen",
        "no",
        ["peermem-missing"],
    ),
    "GDR through one NIC only": (
        said(
            "a",
            "Channel 00/0 : 7[3] -> 0[0] [receive] via NET/IB/0/GDRDMA",
            "Channel 01/0 : 7[3] -> 0[0] [receive] via NET/IB/1",
        ),
        "yes",
        "partly",
        ["gpu-nic-far"],
    ),
    "GDR on one node only": (
        said("a", "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA")
        + said("b", "Channel 00/0 : 0[0] -> 8[0] [receive] via NET/IB/0", rank=1),
        "yes",
        "partly",
        ["peermem-missing"],
    ),
    "plugin": (
        said("a", "Channel 03/0 : 11[3] -> 3[3] [receive] via NET/Libfabric/3/GDRDMA"),
        "yes",
        "yes",
        [],
    ),
    "a rank without NVLinks": (
        said("a", "Using network IB", "32 coll channels, 32 collnet channels, 24 nvls channels, 32 p2p channels")
        + said("b", "Using network IB", "2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels", rank=1),
        "chosen",
        "unknown",
        ["nvlink-missing"],
    ),
    "counts of channels without headers": (
        said("a", "Using network IB", init(0, 2))
        + "32 coll channels, 32 collnet channels, 24 nvls channels, 32 p2p channels, 32 p2p channels per peer\n"
        + "2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer\n",
        "chosen",
        "unknown",
        ["nvlink-missing"],
    ),
    "channels of two communicators": (
        said("a", init(0, 16, comm="0xa"), "2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels")
        + said("a", init(0, 8, comm="0xb"), "24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels"),
        "unknown",
        "unknown",
        [],
    ),
    "releases": (
        said("a", "NCCL version 2.27.5+cuda12.9") + said("b", "NCCL version 2.21.5+cuda12.4"),
        "unknown",
        "unknown",
        ["nodes-differ"],
    ),
    "docker0": (
        said("a", "Bootstrap : Using eth0:10.0.0.1<0>") + said("b", "Bootstrap : Using docker0:172.17.0.1<0>"),
        "unknown",
        "unknown",
        ["socket-ifname-virtual"],
    ),
    "a forgotten setting": (
        said("a", "NCCL_P2P_DISABLE set by environment to 1."),
        "unknown",
        "unknown",
        ["conf-file-forgotten"],
    ),
    "a GID index by hand": (
        said("a", "NCCL_IB_GID_INDEX set by environment to 3."),
        "unknown",
        "unknown",
        ["gid-index-invalid"],
    ),
    "2.30's words for a network": (said("a", "Assigned NET plugin IB to comm"), "chosen", "unknown", []),
    "PyTorch's words on IPv6": (
        said("a", "Using network IB")
        + "[W socket.cpp:601] [c10d] The client socket has failed to connect to [localhost]:29500 "
        "(errno: 97 - Address family not supported by protocol).\n",
        "chosen",
        "unknown",
        ["ports-blocked"],
    ),
    "software RDMA": (
        said("a", "NET/IB : Using [0]rxe0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", "Using network IB"),
        "chosen",
        "unknown",
        ["soft-rdma-present"],
    ),
    "lines that lost their headers": (
        "NET/IB : No device found.\nUsing network Socket\nChannel 00/0 : 1[1] -> 8[0] [send] via NET/Socket/0\n",
        "no",
        "no",
        ["verbs-device-missing"],
    ),
    "a bridge that a hypervisor made up": (
        said("a", "=== System : maxBw 48.0 totalBw 370.8 ===", "+ PCI[0.2] - PCI/0-65000 (104c823200000000)")
        + said("a", "              + PCI[48.0] - NIC/0-67000"),
        "unknown",
        "unknown",
        ["pcie-bridge-bogus"],
    ),
    "fabric in progress": (
        said("a", "MNNVL busId 0x1906000 fabric UUID 1.2 cliqueId 0xd26 state 2 healthMask 0x1aa"),
        "unknown",
        "unknown",
        ["fabric-not-ready"],
    ),
    "fabric, healthy": (
        said("a", "MNNVL busId 0x1906000 fabric UUID 1.2 cliqueId 0xd26 state 3 healthMask 0x1aa"),
        "unknown",
        "unknown",
        [],
    ),
    "RAS's port": (
        "[2026-09-09 11:29:56] a:1:1 [0] ras/client.cc:181 NCCL WARN Call to bind failed: Address already in use\n",
        "unknown",
        "unknown",
        ["ras-port-taken"],
    ),
    "bound to a core": (
        said(
            "a",
            "ncclTopoGetCpuAffinity: Affinity for GPU 1 is 28,84. (GPU affinity = 28-55,84-111 ; CPU affinity = 28).",
        ),
        "unknown",
        "unknown",
        ["numa-misbound"],
    ),
    "nccl-tests, two machines": (
        "# Avg bus bandwidth    : 475.782\n--- VM ---\n# Avg bus bandwidth    : 27.5\n",
        "unknown",
        "unknown",
        ["run-slower"],
    ),
    "ncclras": (
        "NCCL version 2.26.2 compiled with CUDA 12.6\n#0-0 (fa93daea) MISMATCH\n"
        "  30 ranks have launched up to operation 640\n  2 ranks have launched up to operation 641\n"
        "  Rank 12 -- GPU 4 managed by process 3 on node 10.1.1.4\n",
        "unknown",
        "unknown",
        ["collective-mismatch"],
    ),
    "ncclras, the mismatch alone": (
        "NCCL version 2.26.2 compiled with CUDA 12.6\n#0-0 (fa93daea) MISMATCH\n",
        "unknown",
        "unknown",
        ["collective-mismatch"],
    ),
    "an unknown warning": (
        "a:1:1 [0] new/file.cc:1 NCCL WARN Something that nobody has seen\n",
        "unknown",
        "unknown",
        ["other-warning"],
    ),
}
