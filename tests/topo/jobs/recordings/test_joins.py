# SPDX-License-Identifier: Apache-2.0
"""A recording is evidence of a hang, and a trace to bill and to replay."""

import pytest
from tests.topo.jobs.recordings.writer import HASH, MS, RankFile, job, write

from railgauge.topo.findings.cards.hang import OPERATION_MISMATCH, OPERATION_STUCK, RANK_BEHIND
from railgauge.topo.jobs.hang.sources import Sources
from railgauge.topo.jobs.hang.verdict import verdict
from railgauge.topo.jobs.recordings.layout import RecordingLevel
from railgauge.topo.jobs.traces.merge import merged
from railgauge.topo.jobs.traces.read import read_trace
from railgauge.topo.nccl.settings.algorithm import Collective


def judged(files, tmp_path):
    sources = Sources({})
    for path in write(files, tmp_path):
        sources.add(path)
    return verdict(sources.finish())


def test_a_finished_job_does_not_hang(tmp_path):
    found = judged(job(size=3), tmp_path)
    assert not found.findings
    assert not found.is_stuck


def test_a_rank_that_has_not_called_is_behind(tmp_path):
    files = job(size=3, operations=5)
    for file in files[:2]:
        file.collective(900 * MS, 901 * MS, None)
    (finding,) = judged(files, tmp_path).findings
    assert finding.id == RANK_BEHIND.id
    assert "rank 2 has not" in finding.message
    assert "AllReduce #6" in finding.message


def test_calls_alone_show_it_too(tmp_path):
    files = job(size=2, operations=5, level=RecordingLevel.OP, kernels=False)
    files[0].collective(900 * MS, 0, 0, kernels=False)
    assert [one.id for one in judged(files, tmp_path).findings] == [RANK_BEHIND.id]


@pytest.mark.parametrize("before", [False, True])
def test_kernels_that_nccl_does_not_report_are_no_hang(tmp_path, before):
    files = job(size=2, operations=5)
    for file in files:
        if before:  # others of the same kind were not seen either
            file.collective(310 * MS, 0, 0, kernels=False)
            file.collective(320 * MS, 320 * MS, 321 * MS)
            file.collective(900 * MS, 0, 0, kernels=False)
        else:
            file.collective(900 * MS, 0, 0, protocol="LL", kernels=False)
    assert not judged(files, tmp_path).findings


def test_an_operation_whose_kernel_has_not_begun_is_stuck(tmp_path):
    files = job(size=2, operations=5)
    for file in files:
        file.collective(900 * MS, 0, 0, kernels=False)
    assert [one.id for one in judged(files, tmp_path).findings] == [OPERATION_STUCK.id]


def test_an_operation_that_nobody_leaves_is_stuck(tmp_path):
    files = job(size=2, operations=5)
    for file in files:
        file.collective(900 * MS, 901 * MS, None)
    (finding,) = judged(files, tmp_path).findings
    assert finding.id == OPERATION_STUCK.id


def test_different_operations_of_one_number_are_a_mismatch(tmp_path):
    files = job(size=3, operations=5, level=RecordingLevel.OP, kernels=False)
    for file, function in zip(files, ("AllReduce", "AllReduce", "AllGather"), strict=True):
        file.collective(900 * MS, 0, 0, function=function, kernels=False)
    ids = [one.id for one in judged(files, tmp_path).findings]
    assert ids == [OPERATION_MISMATCH.id]


def test_different_counts_are_a_mismatch(tmp_path):
    files = job(size=2, operations=5)
    for file, count in zip(files, (512, 1024), strict=True):
        file.collective(900 * MS, 901 * MS, None, count=count)
    assert OPERATION_MISMATCH.id in [one.id for one in judged(files, tmp_path).findings]


def test_ranks_are_followed_from_one_communicator_to_another(tmp_path):
    files = job(size=4, operations=3)
    for file in files[:2]:
        file.communicators.append((HASH + 1, "dp", 1 - file.rank, 2, 1))  # of ranks 1 and 0, in that order
    files[0].collective(800 * MS, 801 * MS, None, slot=1)
    for file in files[2:]:
        file.collective(900 * MS, 901 * MS, None)
    (finding,) = judged(files, tmp_path).findings
    assert finding.id == RANK_BEHIND.id
    assert "rank 0 waits in AllReduce #1 of communicator 0xc0ffef (dp)" in finding.message


def pipeline(*, last):
    """Two stages: rank 0 sends to rank 1 five times; `last`: the keywords of the last receive, None without."""
    files = [RankFile(rank, 2) for rank in range(2)]
    for number in range(1, 6):
        whole = number < 5
        files[0].message(number * MS, 1, sends=True, took_ns=MS if whole or last == {} else None)
        if whole or last is not None:
            files[1].message(number * MS, 0, sends=False, **({} if whole else last))
    return files


def test_messages_that_are_over_are_no_hang(tmp_path):
    assert not judged(pipeline(last={}), tmp_path).findings


def test_a_receive_that_was_not_called_is_named(tmp_path):
    (finding,) = judged(pipeline(last=None), tmp_path).findings
    assert finding.id == RANK_BEHIND.id
    assert "rank 1" in finding.message
    assert "rank 0" in finding.message


def test_a_message_that_does_not_end_is_stuck(tmp_path):
    (finding,) = judged(pipeline(last={"took_ns": None}), tmp_path).findings
    assert finding.id == OPERATION_STUCK.id
    assert "from rank 0 to rank 1" in finding.message


def test_a_trace_has_the_operations_of_all_ranks_once(tmp_path):
    files = job(size=4, operations=3)
    for file in files:
        file.collective(800 * MS, 801 * MS, 803 * MS, function="AllGather", count=100)
        file.collective(900 * MS, 0, 0, captured=True, kernels=False)
        file.message(910 * MS, (file.rank + 1) % 4, sends=True)
        file.message(910 * MS, (file.rank - 1) % 4, sends=False)
    trace = read_trace(write(files, tmp_path))
    assert trace.world == 4
    assert list(trace.left_out.values()) == [4]
    operations = merged(trace)
    kinds = [one.collective for one in operations]
    assert kinds.count(Collective.ALL_REDUCE) == 3
    assert kinds.count(Collective.SEND_RECV) == 4
    (gathered,) = [one for one in operations if one.collective is Collective.ALL_GATHER]
    assert (gathered.elements, gathered.group.ranks, gathered.measured_us) == (400, (0, 1, 2, 3), 2000.0)


def test_operations_of_several_communicators_keep_the_order_of_their_calls(tmp_path):
    files = [RankFile(rank, 2) for rank in range(2)]
    for file in files:
        file.communicators.append((HASH + 1, "dp", file.rank, 2, 1))
        for start, slot, count in ((1, 0, 10), (2, 1, 20), (3, 0, 30)):
            file.collective(start * MS, start * MS + 1, start * MS + 9, count=count, slot=slot)
    assert [one.elements for one in merged(read_trace(write(files, tmp_path)))] == [10, 20, 30]
