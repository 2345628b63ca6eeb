# SPDX-License-Identifier: Apache-2.0
"""Errors of several files come in the order of time; where their clocks have nothing in common it is said so."""

import itertools

import pytest

from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.moment import moment_of
from railgauge.topo.jobs.logs.verdict import verdict

SHM = "b:1:2 [0] misc/shmutils.cc:71 NCCL WARN Error: failed to extend /dev/shm/nccl-aB to 5967876 bytes"
CUDA = "a:1:2 [0] enqueue.cc:10 NCCL WARN Cuda failure 700 'an illegal memory access was encountered'"
CLOSED = "a:1:2 [0] misc/socket.cc:10 NCCL WARN socketProgress: Connection closed by remote peer b<42830>"
STAMPS = {
    "NCCL": "[2025-03-01 10:11:{}] ",
    "NCCL below Slurm": "12: [2025-03-01 10:11:{}] ",
    "glog": "[rank3]:[E301 10:11:{}.250 ProcessGroupNCCL.cpp:616] ",
    "glog's year less month": "E0301 10:11:{}.250123 139 x.cc:1] ",
    "Kubernetes": "[pod/t-0/main] 2025-03-01T10:11:{}.123456789Z stderr F ",
    "ISO with a zone": "2025-03-01T12:11:{}+02:00 ",
    "logging": "(Worker pid=3) 2025-03-01 10:11:{},123 - ",
    "vLLM": "(EngineCore_0 pid=7) ERROR 03-01 10:11:{} [core.py:1] ",
    "syslog": "Mar  1 10:11:{} node-1 app[7]: ",
    "coloured": "\x1b[36m(Train pid=7)\x1b[0m [2025-03-01 10:11:{}] ",
}


def judged(*files):
    log = Log()
    for content in files:
        log.read("".join(f"{line}\n" for line in content).encode())
        log.end_file()
    return verdict(log).findings


@pytest.mark.parametrize("stamp", STAMPS.values(), ids=STAMPS)
def test_the_first_error_in_time_is_the_cause_whichever_file_it_is_in(stamp):
    first = [stamp.format(12) + SHM]
    later = [stamp.format(15) + CLOSED, stamp.format(18) + CUDA]
    for files in itertools.permutations((first, later)):
        found = judged(*files)
        assert [one.id for one in found] == ["shm-too-small", "cuda-failure", "peer-lost"]
        assert "the first error in time: on b at" in found[0].message
        assert "10:11:12" in found[0].message
        assert found[2].evidence["follows_from"] == ["shm-too-small", "b"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", ""),
        (STAMPS["NCCL"].format(12), ""),
        (STAMPS["NCCL"].format(12), STAMPS["Kubernetes"].format(18)),  # a zone is not known
        (STAMPS["syslog"].format(12), "Dec 31 23:59:59 node-1 "),  # of this year or the last
    ],
)
def test_clocks_that_cannot_be_compared_are_said_to_be(one, other):
    found = judged([one + SHM], [other + CUDA])
    assert [one.id for one in found] == ["shm-too-small", "cuda-failure"]
    assert "which error came first is not known" in found[0].message
    assert "no timestamps that can be compared" in found[0].message


def test_what_is_less_than_a_second_apart_has_no_order():
    found = judged(["[2025-03-01 10:11:12] " + SHM], ["2025-03-01 10:11:12,900 " + CUDA])
    assert "less than a second apart" in found[0].message
    assert "in time: on" not in found[0].message


def test_lines_of_one_file_that_a_collector_put_out_of_order():
    found = judged(["2025-03-01T10:11:18Z " + CUDA, "2025-03-01T10:11:12Z " + SHM])
    assert [one.id for one in found] == ["shm-too-small", "cuda-failure"]
    assert [one.id for one in judged([CUDA, SHM])] == ["cuda-failure", "shm-too-small"]


def test_the_first_of_several_hosts_with_one_fault():
    late = "[2025-03-01 10:11:18] " + SHM.replace("b:", "a:")
    (found,) = judged([late], ["[2025-03-01 10:11:12] " + SHM])
    assert (found.level, found.evidence["hosts"]) == (Level.FAIL, ["a", "b"])
    assert "on b at 2025-03-01 10:11:12" in found.message


@pytest.mark.parametrize("text", ["", "x" * 400, "[2025-13-45 10:11:12] ", "E9999 10:11:12 ", "2025-03-01T25:00:00Z"])
def test_what_is_no_time(text):
    moment = moment_of(text, "a", 0)
    assert (moment.zoned, moment.local) == (None, None)


def test_a_zone_east_of_greenwich():
    assert str(moment_of("2025-03-01T00:30:00+05:30 ", "a", 0)) == "2025-02-28 19:00:00 UTC"
    assert str(moment_of("2025-03-01T00:30:00-0130 ", "a", 0)) == "2025-03-01 02:00:00 UTC"
