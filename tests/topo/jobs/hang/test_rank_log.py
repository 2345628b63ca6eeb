# SPDX-License-Identifier: Apache-2.0
"""Logs of NCCL and of PyTorch's watchdog tell who has not called what others have, and who has not come through the
start."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.jobs.hang.reading import dump, found, message, scene_of, up_to, write_dumps

from railgauge.topo.jobs.hang.model import JobState
from railgauge.topo.jobs.hang.rank_log import RankLog
from railgauge.topo.jobs.hang.verdict import verdict

COMM = "0xc0ffee01"


def said(rank, text, host=""):
    host = host or f"gpu-0{1 + rank // 4}"
    return f"{host}:{100 + rank}:{200 + rank} [{rank % 4}] NCCL INFO {text}\n"


def init(rank, what="START", size=8, comm=COMM):
    return said(
        rank,
        f"ncclCommInitRank comm 0x5{rank:03x} rank {rank} nranks {size} cudaDev {rank % 4} nvmlDev {rank % 4} "
        f"busId 1b000 commId {comm} - Init {what}",
    )


def call(rank, number, name="AllReduce", *, count=1024, dtype=7, op=0, root=0, size=8):
    return said(
        rank,
        f"{name}: opCount {number:x} sendbuff 0x7f00 recvbuff 0x7f00 count {count} datatype {dtype} op {op} "
        f"root {root} comm 0x5{rank:03x} [nranks={size}] stream 0x55 task 0 globalrank {rank}",
    )


def calls(rank, last, **other):
    return init(rank) + init(rank, "COMPLETE") + "".join(call(rank, number, **other) for number in range(last + 1))


def watchdog(
    rank, number=41, *, group="0", about="(default_pg)", op="ALLREDUCE", enqueued=45, prefix="[rank{}]:", numel=8652160
):
    head = prefix.format(rank) + f"[E603 17:48:0{rank % 10}.005271823 ProcessGroupNCCL.cpp:"
    return (
        f"{head}632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={number}, "
        f"OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=1800000) ran for 1800068 "
        "milliseconds before timing out.\n"
        f"{head}2268] [PG ID 0 PG GUID {group}{about} Rank {rank}]  failure detected by watchdog at work "
        f"sequence id: {number} PG status: last enqueued work: {enqueued}, last completed work: {number - 1}\n"
    )


def scene_of_log(tmp_path, *texts):
    for number, text in enumerate(texts):
        (tmp_path / f"nccl.{number}.log").write_text(text)
    return scene_of(tmp_path)


def test_the_rank_that_did_not_call(tmp_path):
    scene = scene_of_log(tmp_path, *(calls(rank, 41 if rank != 6 else 40) for rank in range(8)))
    assert found(scene) == [("rank-behind", "FAIL")]
    assert message(scene) == (
        f"rank 6 has not entered AllReduce #41 (communicator {COMM}, 8 ranks on 2 nodes); ranks 0-5,7 have called it; "
        "its last call: AllReduce #40"
    )


@pytest.mark.parametrize(
    "prefix", ["", "[rank0]: ", "2025-06-03T17:48:01Z ", "(RayTrainWorker pid=615, ip=10.72.7.6) "]
)
def test_mixed_and_wrapped_lines(tmp_path, prefix):
    lines = [line for rank in range(8) for line in calls(rank, 9 if rank != 3 else 7).splitlines()]
    lines.sort(key=lambda line: ("COMPLETE" in line or "opCount" in line, "opCount" in line))
    scene = scene_of_log(tmp_path, "".join(f"{prefix}{line}\nloss 2.3\n" for line in lines))
    assert message(scene).startswith("rank 3 has not entered AllReduce #8 ")


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (
            {"name": "AllGather"},
            "rank 2 called AllGather of 1024 float; ranks 0-1,3-7 called AllReduce of 1024 float, sum",
        ),
        (
            {"count": 99},
            "rank 2 called AllReduce of 99 float, sum; ranks 0-1,3-7 called AllReduce of 1024 float, sum: counts",
        ),
        ({"dtype": 6}, "types differ"),
        ({"op": 2}, "operators differ"),
    ],
)
def test_an_operation_that_differs(tmp_path, odd, words):
    logs = [calls(rank, 28) + call(rank, 29, **(odd if rank == 2 else {})) for rank in range(8)]
    scene = scene_of_log(tmp_path, *logs)
    assert found(scene) == [("operation-mismatch", "FAIL")]
    assert message(scene).startswith(
        f"ranks called different operations at operation #29 (communicator {COMM}, 8 ranks on 2 nodes): "
    )
    assert words in message(scene)


def test_equal_calls_say_what_they_do_not_tell(tmp_path):
    scene = scene_of_log(tmp_path, *(calls(rank, 3) for rank in range(8)))
    assert found(scene) == []
    assert "Unknown whether the last ones completed" in message(scene)


def test_a_rank_that_has_called_none(tmp_path):
    logs = [calls(rank, 3) for rank in range(7)] + [init(7) + init(7, "COMPLETE")]
    scene = scene_of_log(tmp_path, *logs)
    assert "rank 7 has not entered AllReduce #0 " in message(scene)
    assert "it had called no operation before" in message(scene)


def test_numbers_are_not_compared_where_ranks_send_to_each_other(tmp_path):
    logs = [calls(rank, 3 + rank) + call(rank, 20, "Send", root=1) for rank in range(8)]
    scene = scene_of_log(tmp_path, *logs)
    assert found(scene) == []
    assert any("also send to each other" in note for note in scene.notes)


def test_calls_without_a_start_are_of_nobody(tmp_path):
    scene = scene_of_log(tmp_path, call(0, 3), call(1, 4))
    assert found(scene) == []
    assert any("NCCL_DEBUG_SUBSYS=INIT,COLL to log both" in note for note in scene.notes)


def test_the_rank_that_has_not_begun_the_start(tmp_path):
    scene = scene_of_log(tmp_path, *(init(rank) for rank in range(8) if rank != 5))
    assert found(scene) == [("start-stuck", "FAIL")]
    assert message(scene).startswith(
        f"ranks 0-4,6-7 are in the start of communicator {COMM}, 8 ranks, which rank 5 has not "
    )


def test_ranks_that_do_not_reach_each_other_tell_their_interfaces(tmp_path):
    boot = {0: "eth0:10.0.0.1<0>", 4: "docker0:172.17.0.1<0>"}
    logs = [(said(rank, f"Bootstrap: Using {boot[rank]}") if rank in boot else "") + init(rank) for rank in range(8)]
    scene = scene_of_log(tmp_path, *logs)
    assert found(scene) == [("start-stuck", "FAIL")]
    assert "all have begun it and none has completed it" in message(scene)
    assert "bootstrap interface: eth0 10.0.0.1 on gpu-01, docker0 172.17.0.1 on gpu-02" in message(scene)


def test_one_log_of_many_does_not_tell_who_has_not_begun(tmp_path):
    assert found(scene_of_log(tmp_path, init(0))) == [("evidence-short", "UNKNOWN")]


def test_a_log_that_ends_before_any_communicator(tmp_path):
    scene = scene_of_log(tmp_path, said(0, "Bootstrap : Using docker0:172.17.0.1<0>"))
    assert found(scene) == [("evidence-short", "UNKNOWN")]
    assert "bootstrap interface: docker0 172.17.0.1 on gpu-01" in message(scene)


def test_a_start_that_ended_and_a_communicator_that_is_over_hang_nowhere(tmp_path):
    ended = init(1, "COMPLETE").replace("Init COMPLETE", "Destroy COMPLETE")
    assert found(scene_of_log(tmp_path, *(init(rank) + init(rank, "COMPLETE") for rank in range(8)))) == []
    assert found(scene_of_log(tmp_path, *(ended.replace("1", str(rank)) for rank in range(8)))) == []


def test_starts_of_an_old_release_have_no_id(tmp_path):
    logs = [
        said(rank, f"comm 0x5{rank:03x} rank {rank} nranks 8 cudaDev {rank % 4} nvmlDev 0 - Init COMPLETE")
        for rank in range(8)
    ]
    logs = [log + "".join(call(rank, n) for n in range(5 if rank else 4)) for rank, log in enumerate(logs)]
    assert message(scene_of_log(tmp_path, *logs)).startswith(
        "rank 0 has not entered AllReduce #4 (communicator 1 of 8 ranks, "
    )


def test_the_watchdogs_tell_who_waits_since_when(tmp_path):
    world = "".join(init(rank) + init(rank, "COMPLETE") for rank in range(8))
    scene = scene_of_log(tmp_path, world + "".join(watchdog(rank) for rank in range(7)))
    assert found(scene) == [("rank-missing", "FAIL")]
    assert message(scene) == (
        "no data from rank 7: it has ended, has not entered all_reduce #41 (process group 0 (default_pg), 8 ranks), "
        "or left files that were not given; ranks 0-6 wait in it since 06-03 17:17:59"
    )


def test_the_watchdogs_of_all_ranks_tell_that_it_is_stuck(tmp_path):
    world = "".join(init(rank) + init(rank, "COMPLETE") for rank in range(8))
    scene = scene_of_log(tmp_path, world + "".join(watchdog(rank) for rank in range(8)))
    assert found(scene) == [("operation-stuck", "FAIL")]


def test_watchdogs_alone_tell_of_a_rank_that_is_missing_among_others(tmp_path):
    scene = scene_of_log(tmp_path, "".join(watchdog(rank) for rank in range(32) if rank != 7))
    assert found(scene) == [("rank-missing", "FAIL")]
    assert message(scene).startswith(
        "no data from rank 7: it has ended, has not entered all_reduce #41 (process group 0 (default_pg), at least 32 "
    )


def test_watchdogs_alone_do_not_tell_how_many_ranks_there_are(tmp_path):
    scene = scene_of_log(tmp_path, "".join(watchdog(rank) for rank in range(7)))
    assert found(scene) == [("evidence-short", "UNKNOWN")]
    assert message(scene).startswith(
        "ranks 0-6 wait in all_reduce #41 since 06-03 17:17:59 (process group 0 (default_pg))"
    )
    assert "its number of ranks is unknown" in message(scene)


def test_the_watchdogs_tell_of_counts_that_differ(tmp_path):
    scene = scene_of_log(tmp_path, "".join(watchdog(rank, numel=8 if rank == 4 else 16) for rank in range(8)))
    assert found(scene) == [("operation-mismatch", "FAIL")]
    assert "rank 4 called all_reduce of 8; ranks 0-3,5-7 called all_reduce of 16: counts differ" in message(scene)


def test_a_watchdogs_line_without_its_group(tmp_path):
    line = watchdog(3, prefix="").splitlines()[0]
    scene = scene_of_log(tmp_path, line + "\n")
    assert found(scene) == [("evidence-short", "UNKNOWN")]
    assert "process group without a name" in message(scene)


def test_watchdogs_and_flight_records_are_one_picture(tmp_path):
    dumps = {rank: dump(up_to(41, waits=41)) for rank in range(7)} | {7: dump(up_to(40))}
    write_dumps(tmp_path, dumps)
    scene = scene_of_log(tmp_path, "".join(watchdog(rank) for rank in range(7)))
    assert found(scene) == [("rank-behind", "FAIL")]
    assert verdict(scene).findings[0].evidence["sources"] == ["flight recorder", "watchdog"]


def test_sources_that_contradict_each_other_say_so(tmp_path):
    write_dumps(tmp_path, {rank: dump(up_to(41, waits=41)) for rank in range(8)})
    scene = scene_of_log(tmp_path, watchdog(0, number=12))
    assert any("disagree on the operation of rank 0" in note for note in scene.notes)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_whoever_is_behind_is_always_named(data):
    odd, last = data.draw(st.integers(0, 7)), data.draw(st.integers(1, 12))
    behind = data.draw(st.integers(0, last - 1))
    logs = {rank: calls(rank, behind if rank == odd else last) for rank in range(8)}
    log, scene = RankLog(), JobState()
    for rank in data.draw(st.permutations(range(8))):
        log.read([logs[rank].encode()])
    log.put(scene)
    judged = verdict(scene)
    assert [finding.id for finding in judged.findings] == ["rank-behind"]
    assert judged.text.startswith(f"rank {odd} has not entered AllReduce #{behind + 1} ")


def test_a_line_that_is_a_call_and_nothing_else_is_read_as_any_other(tmp_path):
    text = "".join(calls(rank, 99 + rank, name="Broadcast", root=1, op=9) for rank in range(2))
    cut = "node-1:101:301 [1] NCCL INFO AllReduce: opCount 9 sendb" + call(1, 120).rstrip("\n") + "\n"
    for tail in ("", cut):
        (tmp_path / "a.log").write_text(text + tail)
        (tmp_path / "b.log").write_text(re.sub(r"(?m)^(?=.)", "\x1b[0m", text + tail))
        scenes = [scene_of(tmp_path / name) for name in ("a.log", "b.log")]
        tracks = [[comm.lane().tracks for comm in scene.communicators.values()] for scene in scenes]
        assert tracks[0] == tracks[1]
        assert len(tracks[0][0][1].calls) == 64
