# SPDX-License-Identifier: Apache-2.0
"""What the driver reports of a GPU stands before what CUDA, NCCL and programs report of it, in the same log."""

import pytest
from tests.topo.jobs.logs.read import read

from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.node.consequences import FOLLOWS_FROM
from railgauge.topo.jobs.logs.verdict import verdict

HEALTHY = "gpu-2:99:201 [4] NCCL INFO Using network IB\n"
XID = "[ 4711.123456] NVRM: Xid (PCI:0000:3b:00): {}\n"
FELL_OFF = XID.format("79, pid=99, name=python, GPU has fallen off the bus.")
NVLINK = XID.format("74, pid=99, name=python, NVLink: fatal error detected on link 3(0x10000, 0x0, 0x0, 0x0)")
PAGE_FAULT = XID.format("31, pid=99, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS")
SXID = "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Fatal, Link 32 egress non-posted PRIV error (First)\n"
CRASH = "gpu-2:99:201 [4] include/alloc.h:39 NCCL WARN Cuda failure 719 'unspecified launch failure'\n"
LOST = "gpu-2:99:201 [4] init.cc:39 NCCL WARN Cuda failure 100 'no CUDA-capable device is detected'\n"
PEER = "gpu-1:98:201 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer gpu-2<51044>\n"
TIMEOUT = "[rank0]:[E1105 10:31:00.1 x.cpp:5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)\n"
SHM = "gpu-1:98:201 [0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\n"


def judged(*lines):
    """(the loud ids, {id: what it follows from})."""
    found = verdict(read("".join(lines))).findings
    loud = [one.id for one in found if one.level in (Level.WARN, Level.FAIL)]
    return loud, {one.id: one.evidence[FOLLOWS_FROM][0] for one in found if FOLLOWS_FROM in one.evidence}


@pytest.mark.parametrize("xid", [FELL_OFF, NVLINK])
@pytest.mark.parametrize("of_cuda", [CRASH, LOST])
@pytest.mark.parametrize("xid_first", [True, False])
def test_a_faulty_gpu_is_the_cause_of_what_cuda_reports(xid, of_cuda, xid_first):
    """Also where dmesg is read last: it is another file, or was asked for afterwards."""
    lines = (HEALTHY, xid, of_cuda, PEER, TIMEOUT) if xid_first else (HEALTHY, of_cuda, PEER, TIMEOUT, xid)
    loud, follows = judged(*lines)
    assert loud == ["gpu-xid"]
    cuda = "cuda-failure" if of_cuda is CRASH else "cuda-start-failed"
    assert follows == dict.fromkeys((cuda, "peer-lost", "collective-timeout"), "gpu-xid")


def test_a_faulty_switch_too():
    loud, follows = judged(HEALTHY, SXID, CRASH, TIMEOUT)
    assert loud == ["nvswitch-sxid"]
    assert follows["cuda-failure"] == follows["collective-timeout"] == "nvswitch-sxid"


def test_the_fault_of_a_program_is_no_cause():
    loud, follows = judged(HEALTHY, PAGE_FAULT, CRASH, PEER)
    assert loud == ["cuda-failure"]
    assert follows == {"peer-lost": "cuda-failure"}


def test_another_fault_stays_beside_it():
    loud, follows = judged(HEALTHY, FELL_OFF, CRASH, SHM)
    assert loud == ["gpu-xid", "shm-too-small"]
    assert follows == {"cuda-failure": "gpu-xid"}


def test_the_driver_alone_is_a_cause_of_a_lost_peer():
    loud, follows = judged(PEER, FELL_OFF)
    assert loud == ["gpu-xid"]
    assert follows == {"peer-lost": "gpu-xid"}
