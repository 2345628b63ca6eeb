# SPDX-License-Identifier: Apache-2.0
"""Errors in old and new words are the same finding, and are found in a log."""

import pytest
from tests.topo.jobs.logs.read import read

from railgauge.topo.findings.card import OF_LOGS, Area, in_area
from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.logs.catalogue import catalogue
from railgauge.topo.jobs.logs.verdict import verdict

SAID = {
    "shm-too-small": [
        "include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device",
        "misc/shmutils.cc:132 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-WU88OE (size 9), "
        "error: No space left on device (28)",
    ],
    "numa-syscalls-blocked": [
        "NCCL WARN Error while attaching to shared memory segment /dev/shm/nccl-, error: No such file or directory (2)",
        "NCCL INFO cuMem host allocations do not appear to be working; falling back to a /dev/shm/ based one",
    ],
    "p2p-unsupported": [
        "transport/shm.cc:590 NCCL WARN Cuda failure 217 'peer access is not supported between these two devices'",
        "graph/paths.cc:1 NCCL WARN P2P is disabled between NVLINK connected GPUs 1 and 0. This should not be the case",
        "transport.cc:41 NCCL WARN No transport found for rank 2[b1000] -> rank 1[5e000]",
    ],
    "memlock-low": [
        "misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",
        "NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory",
    ],
    "dmabuf-unsupported": [
        "NCCL WARN Call to ibv_reg_dmabuf_mr failed with error Operation not supported",
        "Couldn't allocate MR with error=93",
    ],
    "gid-index-invalid": [
        "NCCL WARN Call to ibv_modify_qp failed with error Connection timed out",
        "ibv_modify_qp failed with 110 Connection timed out, on dev rocep1s0f0:1",
    ],
    "verbs-device-missing": [
        "Call to ibv_modify_qp failed with error No such device",
        "transport/net_ib.cc:148 NCCL WARN NET/IB : Unable to open device mlx5_bond_0",
    ],
    "verbs-provider-missing": ["misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]"],
    "rail-unreachable": [
        "NET/IB : Got completion with error 12",
        "NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",
        "net_ib/p2p.cc:648 NCCL WARN NET/IB: Got completion from peer a<4> with status=IBV_WC_RETRY_EXC_ERR(12)",
        "Completion with error at client: Failed status 12: wr_id 0 syndrom 0x81",
    ],
    "acs-enabled": [
        "NCCL WARN NET/IB : Got completion with error 4, opcode 0, len 32694, vendor err 81",
        "rc_verbs_iface.c:67   send completion with error: local protection error",
        "[node2:40754:0:40754] ib_mlx5_log.c:168  Local protection on mlx5_1:1/IB (synd 0x4 vend 0x51 hw_synd 0/2)",
    ],
    "mtu-mismatch": ["NET/IB: Got completion from peer a<4> with status=IBV_WC_LOC_LEN_ERR(1) opcode=128"],
    "ports-blocked": [
        "socket.cc:533 NCCL WARN socketPollConnect: Connect to a<56849> returned 113(No route to host) errno 115",
        "socket.cc:483 NCCL WARN socketStartConnect: Connect to a<45763> failed : Software caused connection abort",
    ],
    "peer-lost": ["NCCL WARN socketProgress: Connection closed by remote peer node2<42830>"],
    "socket-ifname-nomatch": [
        "Bootstrap : no socket interface found",
        "NCCL WARN NET/Socket : no interface found",
        "include/socket.h:344 WARN Socket creation failed : Address family not supported by protocol",
    ],
    "duplicate-gpu": [
        "Duplicate GPU detected : rank 8 and rank 0 both on CUDA device 1b000",
        "init.cc:497 NCCL WARN Duplicate GPU detected : rank 2 and rank 0 both on CUDA device 1000",
        "NCCL WARN Multiple Ranks are using the same GPU/Partition. Set NCCL_MULTI_RANK_GPU_ENABLE=1",
    ],
    "topo-file-stale": ["NCCL WARN Could not find real path of /sys/class/pci_bus/0000:0d/../../0000:0d:00.0"],
    "topology-unusable": ["graph/xml.h:85 NCCL WARN Attribute busid of node nic not found"],
    "topo-file-faulty": [
        "graph/xml.h:85 NCCL WARN Attribute arch of node cpu not found",
        "XML Import Channel : dev 3 not found.",
        "graph/xml.h:381 NCCL WARN Error : too many XML nodes (max 256)",
    ],
    "nodes-differ": [
        "NCCL WARN NET/IB : req 0/1 tag 0 peer a<5> collective mismatch error, local size 496640 remote size 65536",
        "NCCL WARN Mismatched NCCL version detected : rank 0 version 22304",
    ],
    "fabric-not-ready": [
        "transport/nvls.cc:244 NCCL WARN Cuda failure 1 'invalid argument'",
        "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401",
        "Test CUDA failure common.cu:941 'system not yet initialized'",
    ],
    "imex-missing": ["[CUDA_ERROR_NOT_PERMITTED] operation not permitted in expression cuMemCreate(...)"],
    "iommu-translating": ['NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity'],
    "peermem-missing": [
        "Couldn't allocate MR / failed to create mr / Failed to initialize RDMA contexts. / ERRNO: Bad address.",
        "could not insert 'nvidia_peermem': Invalid argument",
    ],
    "nccl-setting-invalid": ["NCCL INFO Invalid value on for NCCL_IB_DISABLE, using default 0."],
    "driver-mismatch": [
        "Failed to initialize NVML: Driver/library version mismatch",
        "Cuda failure 803 'system has unsupported display driver / cuda driver combination'",
    ],
    "soft-rdma-present": ["Failed to run topology matrix"],
    "nofile-low": ["NCCL WARN Call to accept failed : Too many open files"],
    "ib-port-down": ["NCCL WARN NET/IB : Got async event : port error"],
    "collective-timeout": [
        "[Rank 118] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2398459) ran for 1800068 ms"
    ],
    "cuda-failure": ["transport/p2p.cc:187 NCCL WARN Failed to open CUDA IPC handle : 201 invalid device context"],
}


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in SAID.items() for line in lines])
@pytest.mark.parametrize("before", ["", "gpu-01:7:8 [0] ", "[rank3]: gpu-01:7:8 [0] "])
def test_one_error_has_one_id(name, line, before):
    log = read(f"step 1\n{before}{line}\nstep 2\n")
    assert [seen.entry.card.id for seen in log.sightings.values()] == [name]


def test_lines_are_counted_by_host():
    line = "NCCL WARN Call to accept failed : Too many open files\n"
    log = read("".join(f"gpu-0{host}:7:8 [0] {line}" for host in (1, 2, 2)))
    (seen,) = log.sightings.values()
    assert (seen.times, seen.hosts) == (3, {"gpu-01", "gpu-02"})


def test_an_error_that_goes_on_and_on_takes_no_memory():
    log = read("".join(f"a:7:8 [0] NCCL WARN nobody knows {number}\n" for number in range(6000)))
    assert len(log.sightings) == 4096


def test_ids_are_of_the_issue_or_of_logs_alone():
    told = {entry.card.id for entry in catalogue()}
    of_jobs = {card.id for area in OF_LOGS if area is not Area.LOGS for card in in_area(area)}
    known = {"gid-table-holes", "ib-errors-rising", "ras-port-taken", "vm-flat-topology", "socket-ifname-virtual"}
    known |= {"gpu-direct-rdma"}
    known |= {"nccl-aborting", "job-failed", "wrong-results", "gpu-lost", "gpu-recovery-needed"}
    known |= {"nvlink-missing", "gpu-driver-missing"}
    assert told - set(SAID) - of_jobs == known
    assert all(entry.pattern.level in (Level.INFO, Level.WARN, Level.FAIL) for entry in catalogue())
    assert {"peer-lost", "collective-timeout", "ras-port-taken"} <= told


def test_a_log_that_names_no_host_is_of_one():
    (found,) = verdict(read("NCCL INFO NET/IB : No device found.\n")).findings
    assert found.message.startswith("no RDMA device is found on the log's host")
