# SPDX-License-Identifier: Apache-2.0
"""Faults by their kind, in the words of many releases and programs: what is found first, and what only follows."""

import re

import pytest
from tests.topo.jobs.logs.excerpts import USING, init, said
from tests.topo.jobs.logs.read import read

from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.logs.verdict import verdict

LOUD = (Level.WARN, Level.FAIL)
VERSION = said("a", "NCCL version 2.21.5+cuda12.4")


def judged(content):
    log = read(content)
    log.end_file()
    return verdict(log)


def loud(content):
    return [one.id for one in judged(content).findings if one.level in LOUD]


def warned(text, host="a"):
    return f"{host}:1:2 [0] {text}\n"


COMPLETIONS = [
    ("error 12, opcode 1, len 0, vendor err 129", "rail-unreachable", 12),
    ("status=12 opcode=129 len=1048576 vendor err 129 (Recv)", "rail-unreachable", 12),
    ("status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=4 vendor_err=129", "rail-unreachable", 12),
    ("status=IBV_WC_WR_FLUSH_ERR(5) opcode=IBV_WC_SEND(0)", "rail-unreachable", 5),
    ("error 4, opcode 0, len 32694, vendor err 81", "acs-enabled", 4),
    ("status=IBV_WC_LOC_PROT_ERR(4) opcode=0", "acs-enabled", 4),
    ("status=9 opcode=0 len=0 vendor err 138 (Send)", "rdma-access-refused", 9),
    ("error 10, opcode 0, len 0, vendor err 136", "rdma-access-refused", 10),
    ("status=IBV_WC_REM_OP_ERR(11)", "rdma-access-refused", 11),
    ("status=13 opcode=0 len=0 vendor err 135", "ib-errors-rising", 13),
]


@pytest.mark.parametrize(("words", "identifier", "status"), COMPLETIONS)
def test_a_completion_is_found_by_its_status(words, identifier, status):
    line = f"NCCL WARN NET/IB : Got completion from peer 10.0.0.5<5> with {words} localGid ::ffff:1.2.3.4 hca mlx5_7"
    (found,) = judged(warned(line)).findings
    assert (found.id, found.level) == (identifier, Level.FAIL)
    assert f"status {status}" in found.message
    assert found.evidence["status"] == [str(status)]
    assert (found.evidence["peers"], found.evidence["hcas"]) == (["10.0.0.5"], ["mlx5_7"])
    assert found.evidence["local_gids"] == ["::ffff:1.2.3.4"]


ERRNOS = {
    "Network is unreachable": "rail-unreachable",
    "with 101 Network is unreachable, on dev mlx5_0:1": "rail-unreachable",
    "Connection timed out": "gid-index-invalid",
    "with 110 Connection timed out, on dev mlx5_0:1": "gid-index-invalid",
    "Operation not supported errno 95": "gid-index-invalid",
    "Invalid argument": "gid-index-invalid",
    "No such device": "verbs-device-missing",
}


@pytest.mark.parametrize(("words", "identifier"), ERRNOS.items())
def test_a_queue_pair_is_refused_by_errno(words, identifier):
    (found,) = judged(warned(f"NCCL WARN Call to ibv_modify_qp failed {words}")).findings
    assert found.id == identifier
    refused = "Invalid argument" in words or "not supported" in words
    assert ("cannot reach" in found.message) == ("timed out" in words)
    assert not refused or "driver" in found.message


def test_ports_of_two_kinds_are_the_cause_of_an_invalid_argument():
    mixed = "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_4:1/RoCE ; OOB eth0:10.0.0.1<0>"
    assert loud(said("a", mixed, "Using network IB")) == ["link-layers-mixed"]
    refused = said("a", mixed) + warned("NCCL WARN Call to ibv_modify_qp failed with error Invalid argument")
    found = judged(refused).findings
    assert (found[0].id, found[0].level) == ("link-layers-mixed", Level.FAIL)
    assert "NET/IB/1 mlx5_4" in found[0].message
    assert loud(said("a", USING, "Using network IB")) == []


FAULTS = {
    "shm-too-small": [
        "misc/shmutils.cc:71 NCCL WARN Error: failed to extend /dev/shm/nccl-aB to 5967876 bytes",
        "misc/shmutils.cc:112 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-aB (size 5967872)",
        "os/linux.cc:90 NCCL WARN Error: failed to extend /dev/shm/nccl-aB to 9 bytes, error: No space left (28)",
    ],
    "shm-register-failed": ["include/shm.h:42 NCCL WARN Cuda failure 'invalid argument'"],
    "numa-syscalls-blocked": ["misc/shmutils.cc:93 NCCL WARN Call to open failed: No such file or directory"],
    "peermem-missing": ["NCCL WARN Call to ibv_reg_mr_iova2 failed with error Bad address"],
    "cuda-arch-missing": [
        "enqueue.cc:47 NCCL WARN Cuda failure 'named symbol not found'",
        "enqueue.cc:47 NCCL WARN Cuda failure 209 'no kernel image is available for execution on the device'",
    ],
    "cuda-start-failed": [
        "init.cc:40 NCCL WARN Cuda failure 'initialization error'",
        "misc/cudawrap.cc:90 NCCL WARN Failed to find CUDA library libcuda.so (NCCL_CUDA_PATH='') : cannot open",
    ],
    "gpu-memory-full": ["include/alloc.h:204 NCCL WARN Cuda failure 2 'out of memory'"],
    "efa-provider-missing": ["get_ofi_provider:312 NCCL WARN NET/OFI Could not find any optimal provider"],
    "nodes-differ": [
        "NCCL WARN NET/Socket : peer a<1> message truncated : receiving 524288 bytes instead of 65536",
        "NCCL WARN Mismatched collective detected, please check your collective calls at and around rank 3.",
    ],
    "iommu-translating": ['init.cpp:120 NCCL WARN Missing "amd_iommu=on" from kernel command line'],
    "fine-grain-pcie-off": ['init.cpp:126 NCCL WARN Missing "HSA_FORCE_FINE_GRAIN_PCIE=1" from environment'],
    "cuda-failure": [
        "p2p.cc:200 NCCL WARN failed to open CUDA IPC handle : 1 invalid argument",
        "p2p.cpp:9 NCCL WARN hipIpcGetMemHandle failed : invalid argument",
    ],
    "gid-table-holes": ["NCCL WARN NET/IB: read failed in ncclIbRoceGetVersionNum: Invalid argument"],
    "socket-ifname-nomatch": [
        "NCCL WARN ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2)"
    ],
    "ports-blocked": ["include/socket.h:360 WARN Call to connect failed : Connection timed out"],
    "topology-unusable": ["graph/topo.cc:12 NCCL WARN Add NVLink error : could not find GPU 17"],
    "link-layers-mixed": ["NCCL WARN NET/IB : Remote RoCE device is incompatible with the local [0]mlx5_0:1/IB. Try"],
    "invalid-usage": ["init.cc:9 NCCL WARN ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER"],
    "ranks-missing": ["bootstrap.cc:9 NCCL WARN Bootstrap Root : mismatch in info from procs, nranks 8 vs 16"],
    "topo-file-faulty": ["graph/xml.cc:9 NCCL WARN XML Topology has wrong version 2, 1 needed"],
}


@pytest.mark.parametrize(("identifier", "line"), [(key, line) for key, lines in FAULTS.items() for line in lines])
def test_a_fault_in_the_words_of_any_release(identifier, line):
    assert loud(VERSION + warned(line)) == [identifier]


ENDS = [
    ("jaxlib.xla_extension.XlaRuntimeError: INTERNAL: NCCL operation ncclCommInitRank failed", "job-failed"),
    ("mpirun noticed that process rank 3 with PID 0 on node b exited on signal 9 (Killed).", "host-memory-full"),
    ("MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD", "job-failed"),
    ("torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "job-failed"),
    ("gpu-1: Test NCCL failure common.cu:1012 'unhandled cuda error (run with NCCL_DEBUG=INFO)'", "job-failed"),
    ("[2024-01-01 00:00:00,000] [ERROR] [launch.py:325:sigkill_handler] exits with return code = -6", "job-failed"),
    ("ERROR 01-01 00:00:00 engine.py:366] NCCL error: unhandled system error", "job-failed"),
    ("ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.", "peer-lost"),
    ("2024-01-01T00:00:00.0Z stderr F RuntimeError: NCCL communicator was aborted on rank 1.", "job-failed"),
    ("srun: error: gpu-02: task 3: Exited with exit code 1", "job-failed"),
    ("Segmentation fault (core dumped)", "job-failed"),
    (
        "RuntimeError: [gloo/transport/tcp/pair.cc:525] Read error [10.0.0.2]:1234: Connection reset by peer",
        "peer-lost",
    ),
    ("[gpu-1:9:0] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/RoCE", "rail-unreachable"),
    ("libfabric:1:2:efa:ep_ctrl():88<warn> Unable to insert address into AV: Invalid argument", "plugin-failed"),
    ("[Rank 2] Exception (either an error or timeout) detected by watchdog at work: 16172", "collective-timeout"),
    ("[Rank 1] NCCL watchdog thread terminated: CUDA error: an illegal memory access was encountered", "cuda-failure"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "gpu-memory-full"),
    ("a:1:2 [0] NCCL INFO transport/net.cc:1362 -> 6", "job-failed"),
    ("The node was low on resource: memory. Container main was using 200Gi.", "host-memory-full"),
    ("[4711.1] Out of memory: Killed process 410 (python) total-vm:99999kB", "host-memory-full"),
    ("ssh: connect to host gpu-02 port 22: Connection refused", "ports-blocked"),
    ("A process or daemon was unable to complete a TCP connection\nto another process:", "ports-blocked"),
    ("Host key verification failed.", "launch-failed"),
    ("libc.so.6: version `GLIBC_2.34' not found (required by /usr/lib/libnccl.so.2)", "job-failed"),
    ("libfabric:85:1747:efa:cq:efa_rdm_cq_handle_error():330<warn> err: 5, message: Unreachable", "plugin-failed"),
    ("XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Timed out task names: /task:3", "ranks-missing"),
    ("UNAVAILABLE: Task /job:jax_worker/replica:0/task:1 heartbeat timeout. Fatal error", "peer-lost"),
    ("UCX  ERROR Not enough memory to write total of 9 bytes. Please check that /dev/shm has more", "shm-too-small"),
    ("RuntimeError: CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error", "cuda-failure"),
    ("Terminating the process after dumping, due to ProcessGroupNCCL watchdog hang.", "collective-timeout"),
    ("mxnet.base.MXNetError: Check failed: r == ncclSuccess NCCL error: unhandled cuda error", "job-failed"),
    ("slurmstepd: error: *** STEP 4711.0 ON gpu-01 CANCELLED AT 2024-05-01T10:00:00 DUE TO TIME LIMIT", "job-stopped"),
    ("RuntimeError: DataLoader worker (pid 81) is killed by signal: Bus error.", "shm-too-small"),
    ("OSError: libnccl.so.2: cannot open shared object file: No such file or directory", "library-mixed"),
]


@pytest.mark.parametrize(("line", "identifier"), ENDS)
def test_a_log_that_ends_in_an_error_is_never_without_a_problem(line, identifier):
    assert loud(VERSION + f"{line}\n") == [identifier]


@pytest.mark.parametrize(
    "line",
    [
        "# Out of bounds values : 0 OK",
        "step 9 errors: 0",
        "done",
        "a:1:2 [0] NCCL INFO init.cc:9 -> 7",
        "ERROR:root:retrying download (attempt 1)\nstep 3\nTraining finished",
        "E0000 00:00:1700000000.123 1 cuda_dnn.cc:8310] Unable to register cuDNN factory: already registered\nstep 3",
        "libfabric:1:2:core:core:ofi_hmem_init():421<warn> Failed to initialize hmem iface FI_HMEM_ROCR: No data\nstep",
    ],
)
def test_a_log_that_ends_well(line):
    assert loud(VERSION + f"{line}\n") == []


CONSEQUENCES = [
    "proxy.cc:1458 NCCL WARN Socket recv failed while polling for opId=0x7f",
    "proxy.cc:1520 NCCL WARN [Proxy Service 3] Failed to execute operation Connect from rank 3, retcode 2",
    "misc/socket.cc:40 NCCL WARN socketProgress: Connection closed by remote peer b<42830>",
]


@pytest.mark.parametrize("line", CONSEQUENCES)
def test_what_follows_is_told_apart_from_its_cause(line):
    cause = warned("misc/shmutils.cc:71 NCCL WARN Error: failed to extend /dev/shm/nccl-aB to 5967876 bytes")
    for content in (cause + warned(line), warned(line) + cause):
        first, second = judged(content).findings
        assert (first.id, second.level) == ("shm-too-small", Level.INFO)
        assert second.evidence["follows_from"] == ["shm-too-small", "a"]
    (alone,) = judged(warned(line)).findings
    assert alone.level is Level.FAIL
    assert "the cause is not in this log" in alone.message


def test_what_pytorch_repeats_are_the_words_of_nccl():
    content = (
        "ncclSystemError: System call failed.\nLast error:\nCall to ibv_reg_mr_iova2 failed with error Cannot "
        "allocate memory\n"
    )
    for block in (1 << 20, 57, 58):
        log = read(content, block)
        assert verdict(log).findings[0].id == "memlock-low"


def test_a_warning_that_a_terminal_wrapped():
    begun = "a:1:2 [3] transport/net_ib.cc:2244 NCCL WARN NET/IB: Got completion from peer 10.0.0.5<5> with"
    for cut in (" sta\ntus=12 opcode=129", "\nstatus=12 opcode=129", " status=12 opcode=\n129"):
        (found,) = judged(f"{begun}{cut} vendor err 129 (Recv)\nstep 5\n").findings
        assert (found.id, found.evidence["lines"]) == ("rail-unreachable", 1)
    assert loud(f"{begun} status=12 opcode=129\nstep 5 is next\n") == ["rail-unreachable"]


NETWORK = "data (between|goes)|inter-node"
ONE_HOST = {
    "NCCL's count": said(
        "a", "Using network Socket", f"{init(0, 2).split(' - ')[0]} nNodes 1 localRanks 2 localRank 0"
    ),
    "loopback": said("a", "Bootstrap : Using lo:127.0.0.1<0>", "NET/IB : No device found.", "Using network Socket"),
    "shared memory": said("a", "NET/IB : No device found.", "Using network Socket")
    + said("a", "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", "Channel 00 : 1[1] -> 0[0] via SHM/direct/direct"),
    "gdr off": said("a", "Using network IB", "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'")
    + said("a", "comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0"),
}


@pytest.mark.parametrize("name", ONE_HOST)
def test_one_host_is_one_host(name):
    found = judged(ONE_HOST[name])
    assert found.rdma == "unneeded"
    assert not re.search(NETWORK, " ".join([found.text, *(one.message for one in found.findings)]))
    assert not loud(ONE_HOST[name])


def test_libibverbs_is_not_missed_on_one_host():
    missing = said("a", "Failed to open libibverbs.so[.1]")
    assert loud(missing) == ["verbs-provider-missing"]
    assert loud(missing + ONE_HOST["NCCL's count"]) == []


def test_a_host_that_may_be_the_only_one():
    found = judged(said("a", "NET/IB : No device found.", "Using network Socket"))
    assert not re.search(NETWORK, found.text)
    assert [one.level for one in found.findings] == [Level.INFO]


def test_the_network_within_a_node():
    content = said("a", "comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0")
    content += said("a", "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0")
    assert "between ranks of one node" in judged(content).text


def test_a_log_that_ends_at_a_node_local_interface():
    (found,) = judged(VERSION + said("a", "Bootstrap : Using docker0:172.17.0.1<0>")).findings
    assert (found.id, found.level) == ("socket-ifname-virtual", Level.WARN)
    assert loud(VERSION + said("a", "Bootstrap : Using eth0:10.0.0.1<0>")) == []
    assert loud(VERSION + said("a", "Bootstrap : Using eth0:169.254.3.1<0>")) == ["socket-ifname-virtual"]


def test_data_interfaces_that_no_other_node_reaches():
    content = said("a", "NET/Socket : Using [0]eth0:10.0.0.1<0> [1]cni0:10.244.0.1<0>", "Using network Socket")
    content += said("a", "Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/1")
    assert "socket-ifname-virtual" in loud(content)
    assert "socket-ifname-virtual" not in loud(content.replace("cni0", "eth1"))
    blocked = content + warned("NCCL WARN Call to connect to 10.244.0.1<5> failed : Connection timed out")
    assert judged(blocked).findings[0].id == "socket-ifname-virtual"


def test_bootstraps_in_different_networks():
    content = said("a", "Bootstrap : Using eth0:10.0.0.1<0>") + said("b", "Bootstrap : Using eth1:192.168.1.2<0>")
    assert loud(content) == ["socket-ifname-virtual"]
    assert loud(content.replace("192.168", "10.0")) == []


def test_rdma_that_a_setting_turned_off_lacks_no_device():
    content = said("a", "NCCL_IB_DISABLE set by environment to 1.", "NET/IB : No device found.", "Using network Socket")
    content += said("a", "Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0")
    assert loud(content) == ["conf-file-forgotten"]


HCA = [
    ("mlx5_0,mlx5_1", []),
    ("mlx5", []),
    ("=mlx5_0:1,mlx5_1:1", []),
    ("mlx5_0,mlx5_9", ["ib-hca-nomatch", "ib-hca-nomatch"]),  # one names nothing, and mlx5_1 is used although not named
    ("^mlx5_1", ["ib-hca-nomatch"]),
]


@pytest.mark.parametrize(("value", "found"), HCA)
def test_hcas_are_held_against_the_devices_that_are_used(value, found):
    assert loud(said("a", f"NCCL_IB_HCA set by environment to {value}.", USING, "Using network IB")) == found


def test_hcas_name_the_parts_of_a_merged_device():
    using = "NET/IB : Using [0]mlx5_0+mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"
    assert loud(said("a", "NCCL_IB_HCA set by environment to mlx5_0,mlx5_1.", using, "Using network IB")) == []


def test_hcas_that_name_no_device_at_all():
    content = said(
        "a", "NCCL_IB_HCA set by environment to rocep9.", "NET/IB : No device found.", "Using network Socket"
    )
    assert loud(content) == ["ib-hca-nomatch"]


def test_devices_that_2_20_merged():
    log = read(
        said("a", "NET/IB : Using [0]={[0] mlx5_7:1/RoCE, [1] mlx5_6:1/RoCE} [1]={[0] mlx5_3:1/RoCE} ; OOB e:1<0>")
    )
    assert log.devices["a"]["IB"] == ("mlx5_7:1/RoCE+mlx5_6:1/RoCE", "mlx5_3:1/RoCE")


def test_a_link_local_gid():
    line = (
        "NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 1047 mtu 5 query_ece={supported=1} GID 0 (80FE/1A8A41FEFF21A75E) "
        "fifoRkey=0x1"
    )
    assert loud(said("a", line)) == ["gid-index-invalid"]
    assert loud(said("a", line.replace("80FE/1A8A41FEFF21A75E", "0/10100A0AFFFF0000"))) == []


def test_nothing_of_nvidia_is_to_be_loaded_for_efa():
    content = said("a", "Using network AWS Libfabric", "Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0")
    (found,) = [one for one in judged(content).findings if one.level in LOUD]
    assert found.id == "efa-without-gdr"
    assert "peermem" not in found.remedy


@pytest.mark.parametrize(("release", "old"), [("2.21.5", True), ("2.22.3", True), ("2.23.4", False), ("2.30.7", False)])
def test_a_release_that_does_not_know_where_the_module_is(release, old):
    content = said("a", f"NCCL version {release}+cuda12.4", "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'")
    (found,) = judged(content).findings
    assert ("does not know where" in found.message) == old


def test_lines_of_2_2():
    content = "a:1:2 [0] INFO NET : Using interface eth0:10.0.0.1<0>\na:1:2 [0] INFO Using internal Network Socket\n"
    content += "a:1:2 [0] include/socket.h:371 WARN Connection closed by remote peer\n"
    assert read(content).hosts == {"a": None}
    assert loud(content) == ["peer-lost"]


def test_nvlinks_that_one_end_has_and_the_other_lacks():
    lines = [
        "+ PCI[24.0] - GPU/0-17000 (0)",
        "              + NVL[20.0] - GPU/0-65000",
        "+ PCI[24.0] - GPU/0-65000 (1)",
        "              + NVL[240.0] - GPU/0-17000",
    ]
    assert loud(said("a", *lines)) == ["nvlink-one-sided"]
    assert loud(said("a", *lines).replace("[20.0]", "[240.0]")) == []


SETTINGS = [
    ("NCCL_ALGO", "Ring", Level.INFO, "nccl-setting-harmful"),
    ("NCCL_GRAPH_FILE", "/g.xml", Level.INFO, "nccl-setting-harmful"),
    ("NCCL_TOPO_FILE", "/t.xml", Level.INFO, "nccl-setting-harmful"),
    ("NCCL_SHM_DISABLE", "1", Level.WARN, "conf-file-forgotten"),
    ("NCCL_IB_TIMEOUT", "40", Level.WARN, "nccl-setting-invalid"),
]


@pytest.mark.parametrize(("name", "value", "level", "identifier"), SETTINGS)
def test_settings_are_judged_as_env_judges_them(name, value, level, identifier):
    (found,) = judged(said("a", f"{name} set by environment to {value}.")).findings
    assert (found.id, found.level, found.subject) == (identifier, level, name)


def test_words_that_nobody_knows_name_the_part_of_nccl_that_speaks():
    (found,) = judged(warned("transport/net_ib/zz.cc:12 NCCL WARN Zork")).findings
    assert "transport/net_ib/zz.cc:12, the RDMA transport" in found.message
    (found,) = judged(warned("new/file.cc:1 NCCL WARN Zork")).findings
    assert (found.id, found.level) == ("other-warning", Level.WARN)
    assert "a part that is not known here" in found.message


def test_a_warning_that_a_job_fails_after_is_a_failure():
    lines = "new/file.cc:1 NCCL WARN Zork\na:1:1 [0] proxy.cc:1 NCCL WARN [Proxy Service 0] Failed to execute operation"
    first, *follow = judged(warned(lines)).findings
    assert (first.id, first.level) == ("other-warning", Level.FAIL)
    assert [(one.id, one.level) for one in follow] == [("nccl-aborting", Level.INFO)]
