# SPDX-License-Identifier: Apache-2.0
"""Watchdogs of all releases of PyTorch, with and without their prefixes, wrapped and cut."""

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.jobs.hang.reading import dump, found, message, scene_of, up_to, write_dumps
from tests.topo.jobs.hang.test_rank_log import watchdog

from railgauge.topo.jobs.hang.model import JobState
from railgauge.topo.jobs.hang.rank_log import RankLog
from railgauge.topo.jobs.hang.verdict import verdict
from railgauge.topo.render.hang import hang_text

GAVE_UP = (
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, "
    "Timeout(ms)=1800000) ran for 1800068 milliseconds before timing out."
)
OLD = "work: 41, last enqueued NCCL work: 45, last completed NCCL work: 40."
NEW = "work sequence id: 41 PG status: last enqueued work: 45, last completed work: 40"
SIGNAL = (
    "Received a dump signal due to a collective timeout from {who} and we will try our best to dump the debug info. "
    "Last enqueued NCCL work: {number}, last completed NCCL work: {number}.This is most likely caused by incorrect us"
)
LINES = {
    "2.0": "[Rank {r}] " + GAVE_UP.replace("NumelIn=8, NumelOut=8", "TensorShape=[8]"),
    "2.2": "[E ProcessGroupNCCL.cpp:523] [Rank {r}] " + GAVE_UP,
    "2.3": "[rank{r}]:[E603 17:48:00.0 ProcessGroupNCCL.cpp:1282] [PG 0 Rank {r}] Timeout at NCCL " + OLD,
    "2.4": "[rank{r}]:[E603 17:48:00.0 ProcessGroupNCCL.cpp:1664] [PG 0 (default_pg) Rank {r}] Exception (either an "
    "error or timeout) detected by watchdog at " + OLD,
    "2.5": "[rank{r}]:[E603 17:48:00.0 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank {r}] Exception "
    "(either an error or timeout) detected by watchdog at " + OLD,
    "2.6": "[rank{r}]:[E603 17:48:00.0 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank {r}]  failure "
    "detected by watchdog at " + NEW,
    "2.9": "[rank{r}]:[E603 17:48:00.0 Watchdog.cpp:757] [PG ID 0 PG GUID 0(default_pg) Rank {r}] failure detected by "
    "watchdog at " + NEW,
    "xccl": "[rank{r}]:[E603 17:48:00.0 ProcessGroupXCCL.cpp:757] [Rank {r}] " + GAVE_UP.replace("NCCL", "XCCL"),
    "without a prefix of PyTorch": "[rank{r}]: " + GAVE_UP.split(" ran ")[0],
    "of a container": '{{"log":"[rank{r}]:[E603 17:48:00.0 x.cpp:1] [Rank {r}] ' + GAVE_UP + '\\n","stream":"stderr"}}',
    "cut into by another rank": "[rank{r}]:[E603 17:48:00.0 x.cpp:565] [Rank {r}] "
    + GAVE_UP.replace("operation", "operatMERS_CACHE` is deprecated and will be removed in v5 of Transformion"),
    "of torchrun": "[default{r}]:[rank{r}]:[E603 17:48:00.0 x.cpp:1] [Rank {r}] " + GAVE_UP,
}


def read(*logs):
    scene, log = JobState(), RankLog()
    for one in logs:
        log.read([one.encode()])
    log.put(scene)
    return scene


def stood(scene):
    """By rank, the operation that it is in."""
    return {rank: track.waits_in for comm in scene.communicators.values() for rank, track in comm.lane().tracks.items()}


@pytest.mark.parametrize("release", LINES)
def test_the_lines_of_each_release(release):
    scene = read("".join(LINES[release].format(r=rank) + "\n" for rank in (2, 5)))
    assert stood(scene) == {2: 41, 5: 41}
    assert verdict(scene).is_stuck
    assert "41" in message(scene)


@pytest.mark.parametrize("width", [40, 61, 80, 132])
@pytest.mark.parametrize("release", LINES)
def test_lines_that_a_terminal_wrapped(release, width):
    lines = [LINES[release].format(r=rank) for rank in (2, 5)]
    cut = "\n".join(line[at : at + width] for line in lines for at in range(0, len(line), width))
    assert stood(read("loss 2.3\n" + cut + "\n\nloss 2.4\n")) == {2: 41, 5: 41}


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("release", ["2.2", "2.4", "2.6"])
def test_lines_that_were_wrapped_between_words(release, width):
    line = LINES[release].format(r=2)
    wrapped = textwrap.fill(line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    assert stood(read(wrapped + "\n")) == {2: 41}


def test_what_follows_a_whole_line_is_not_part_of_it():
    scene = read(LINES["2.6"].format(r=2) + "\n2026-11-21 14:02 step 7\n")
    ((_, comm),) = scene.communicators.items()
    assert comm.lane().tracks[2].completed == 40


def test_a_rank_that_was_signalled_stands_where_it_says():
    others = "".join(LINES["2.6"].format(r=rank) + "\n" for rank in (0, 1, 3))
    signal = "[rank2]:[E603 17:48:00.0 x.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank 2] "
    scene = read(others + signal + SIGNAL.format(who=" rank 0", number=40) + "\n")
    assert found(scene) == [("rank-behind", "FAIL")]
    assert message(scene).startswith("rank 2 has not entered collective #41 (process group 0 (default_pg), at least 4 ")


def test_a_watchdog_that_itself_is_stuck():
    said = (
        "[rank{r}]:[E603 17:48:00.0 x.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank {r}] ProcessGroupNCCL's watchdog got "
        "stuck for 480 seconds without making progress in monitoring enqueued collectives. This typically indicates a"
    )
    scene = read("".join(said.format(r=rank) + "\n" for rank in (3, 7)))
    assert found(scene) == [("watchdog-stuck", "FAIL")]
    assert message(scene) == "the watchdog thread of ranks 3,7 made no progress for 480 s"


def test_heartbeats_that_fail_name_the_ranks_too():
    scene = read(
        "[rank0]:[E1019 01:04:03.3 x.cpp:1413] [PG 3 Rank 0] Heartbeat monitor timed out! Process will be terminated\n"
        "[rank7]:[E1019 01:04:03.3 x.cpp:1375] [PG 3 Rank 7] First PG on this rank that detected no heartbeat of its "
        "watchdog.\n"
    )
    assert found(scene) == [("watchdog-stuck", "FAIL")]
    assert message(scene) == "the watchdog thread of ranks 0,7 made no progress"


@pytest.mark.parametrize("late", ["Rank 3", "Ranks 3, 5"])
def test_who_did_not_come_to_a_barrier_of_gloo(late):
    scene = read(f"RuntimeError: [Rank 0]: {late} failed to pass monitoredBarrier in 30000 ms\n")
    assert found(scene) == [("rank-behind", "FAIL")]
    assert verdict(scene).findings[0].evidence["ranks"] == ([3] if late == "Rank 3" else [3, 5])


@pytest.mark.parametrize("late", ["Rank 3", "Ranks 3, 5"])
def test_what_a_rank_called_before_a_barrier_of_gloo_is_not_made_up(late):
    scene = read(f"RuntimeError: [Rank 0]: {late} failed to pass monitoredBarrier in 30000 ms\n")
    assert "had called no operation" not in message(scene)
    assert "no monitoredBarrier called" in hang_text(scene)


@pytest.mark.parametrize("word", ["worker_count", "num_workers_joined"])
def test_who_did_not_come_to_the_start_of_a_process_group(word):
    said = (
        "RuntimeError: Timed out initializing process group in store based barrier on rank: {r}, for key: "
        "store_based_barrier_key:1 (world_size=4, {word}=3, timeout=0:30:00)\n"
    )
    scene = read("".join(said.format(r=rank, word=word) for rank in (0, 1, 3)))
    assert found(scene) == [("start-stuck", "FAIL")]
    assert verdict(scene).findings[0].evidence["ranks"] == [2]
    assert any("3 of 4 ranks had reached" in note for note in scene.notes)
    alone = read(said.format(r=0, word=word))
    assert found(alone) == [("evidence-short", "UNKNOWN")]
    assert verdict(alone).is_stuck


def test_a_desync_report_names_who_did_not_finish():
    scene = read(
        " - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
        "   - [47] joined but didn't finish collective #41207 (count from 1)\n"
        "     [0, 1, 2, ...] finished collective #41207, but didn't join collective #41208\n"
    )
    assert found(scene) == [("rank-stuck", "FAIL")]
    assert message(scene).startswith("rank 47 is still in collective #41207 (process group of a desync report")


def test_what_torchfrtrace_prints_names_the_ranks():
    head = "group info: 0:default_pg\ncollective: nccl:all_reduce\n"
    culprit = "Culprit rank {}; Error type: SIZE_OR_SYNTAX_MISMATCH, Expected input sizes: '[[4]]' is not '[[8]]'"
    said = f"Collective 39 at entry 38 errors\n{head}error msg: {culprit.format(22)}, {culprit.format(110)}\n"
    scene = read(said)
    assert found(scene) == [("operation-mismatch", "FAIL")]
    assert message(scene).startswith("ranks 22,110 called all_reduce #39 otherwise: SIZE_OR_SYNTAX_MISMATCH: Expected")
    bare = read(said.replace(", Expected input sizes: '[[4]]' is not '[[8]]'", ""))
    assert message(bare).startswith("ranks 22,110 called all_reduce #39 otherwise: SIZE_OR_SYNTAX_MISMATCH, says")
    for begin in (" 41 at entry 40", ": sequence number: 41\ninternal record id: 40"):
        absent = read(f"Not all ranks joining collective{begin}\n{head}missing ranks: {{3, 5}}\n")
        assert (found(absent), message(absent)[:43]) == (
            [("rank-behind", "FAIL")],
            "ranks 3,5 have not entered all_reduce #41, ",
        )


def test_ranks_whose_watchdog_gave_up_on_what_is_not_said():
    said = "[rank{r}]:[E103 21:39:09.6 x.cpp:744] [Rank {r}] Some NCCL operations have failed or timed out. Due to\n"
    scene = read("".join(said.format(r=rank) for rank in (0, 1)))
    assert found(scene) == [("evidence-short", "UNKNOWN")]
    assert "the watchdog of ranks 0-1 gave up" in message(scene)
    assert verdict(scene).is_stuck


def test_no_size_of_a_group_is_made_up():
    lines = "".join(LINES["2.6"].format(r=rank).replace("0(default_pg)", "9") + "\n" for rank in (4, 6))
    scene = read(lines)
    assert "process group 9)" in message(scene)
    assert "its number of ranks is unknown" in message(scene)
    assert "ranks 0" not in message(scene)


@pytest.mark.parametrize("name", ["ALLGATHER", "_ALLGATHER_BASE", "REDUCE_SCATTER", "_REDUCE_SCATTER_BASE"])
def test_both_sides_of_an_operation_in_shares_say_how_many_ranks_the_job_has(name):
    """PyTorch takes no other sizes: where all of them wait in it, none is missing."""
    sides = ("32", "8") if "REDUCE" in name else ("8", "32")
    gave_up = LINES["2.2"].replace("ALLREDUCE", name)
    gave_up = gave_up.replace("NumelIn=8, NumelOut=8", "NumelIn={}, NumelOut={}".format(*sides))
    each = gave_up + "\n" + LINES["2.6"] + "\n"
    scene = read("".join(each.format(r=rank) for rank in range(4)))
    assert found(scene) == [("operation-stuck", "FAIL")]
    assert "process group 0 (default_pg), 4 ranks" in message(scene)
    assert found(read("".join(each.format(r=rank) for rank in range(3)))) == [("rank-missing", "FAIL")]
    other = each.replace("default_pg", "tensor")
    assert found(read("".join(other.format(r=rank) for rank in range(4)))) == [("evidence-short", "UNKNOWN")]


def test_the_number_of_ranks_of_another_group_is_not_that_of_the_job():
    other = (LINES["2.2"] + "\n" + LINES["2.6"].replace("0(default_pg)", "9(tensor)") + "\n").replace("41", "77")
    other = other.replace("ALLREDUCE", "ALLGATHER").replace("NumelOut=8", "NumelOut=16")
    scene = read("".join((LINES["2.6"] + "\n" + other).format(r=rank) for rank in (0, 1)))
    assert "process group 0 (default_pg), at least 2 ranks" in hang_text(scene)


@pytest.mark.parametrize("numbers", ["0, NumelOut=8", "8, NumelOut=36", "8, NumelOut=8", f"1, NumelOut={10**17}"])
def test_sides_that_do_not_fit_say_no_number_of_ranks(numbers):
    gave_up = LINES["2.2"].replace("ALLREDUCE", "ALLGATHER").replace("8, NumelOut=8", numbers)
    each = gave_up + "\n" + LINES["2.6"] + "\n"
    scene = read("".join(each.format(r=rank) for rank in range(4)))
    assert "process group 0 (default_pg), at least 4 ranks" in hang_text(scene)


def test_what_the_back_end_of_ucc_says_of_the_others():
    scene = read(
        " what():  [Rank 1][ProcessGroupUCC-1][COMM_CHECK]\n"
        "\tAborting comms #12 (op=ALLTOALL_BASE) due to the problematic ranks: [ 3 ]\n"
        "\t\tRanks [3] are last known progressing comms #11 (op=BROADCAST)\n"
        "\t\tRanks [0 1 2 4] are last known progressing comms #12 (op=ALLTOALL_BASE)\n"
    )
    assert found(scene) == [("rank-behind", "FAIL")]
    assert verdict(scene).findings[0].evidence["ranks"] == [3]
    assert "ranks 0-2,4 have called it; its last call: broadcast #11" in message(scene)


def test_the_last_line_alone_names_its_group():
    line = "[PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog thread terminated with exception: [Rank 3] "
    said = message(read(f"[rank3]:[E603 17:48:00.0 ProcessGroupNCCL.cpp:1895] {line}{GAVE_UP}"))
    assert "process group 0 (default_pg), at least 4 ranks" in said
    assert said.endswith("no data from ranks 0-2")


GAVE_IN = "To avoid data inconsistency, we are taking the entire process down.\n"


def test_ranks_of_a_group_without_a_name_count_from_0():
    """PyTorch 2.1 and older name no group; [Rank N] is the rank in it, [rankN] the one in the job."""
    said = "[E ProcessGroupNCCL.cpp:828] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
    said += "OpType=ALLGATHER, Timeout(ms)=1800000) ran for 1804775 milliseconds before timing out.\n"
    scene = read("".join(said.format(r=rank) for rank in range(1, 8)))
    assert found(scene) == [("rank-missing", "FAIL")]
    assert "no data from rank 0: it has ended, has not entered all_gather #7" in message(scene)
    alike = read("".join(f"[rank{rank}]:{said.format(r=rank)}[rank{rank}]:[E x.cpp:5] {GAVE_IN}" for rank in (0, 1, 3)))
    assert "no data from rank 2: it has ended, has not entered all_gather #7" in message(alike)
    in_job = read("".join(f"[rank{rank + 8}]:{said.format(r=rank)}" for rank in range(1, 8)))
    assert found(in_job) == [("evidence-short", "UNKNOWN")]


def test_a_first_operation_that_all_known_ranks_wait_in_blames_nobody():
    """Nothing may get through: a rank whose lines were not pasted may wait in it too."""
    scene = read("".join(LINES["2.6"].replace("41", "1").replace("40", "-1").format(r=r) + "\n" for r in (1, 2, 3)))
    assert found(scene) == [("evidence-short", "UNKNOWN")]
    assert message(scene).endswith("no data from rank 0")
    assert verdict(scene).is_stuck


def test_a_rank_without_its_line_about_the_group_stands_near_those_of_it():
    """Where one rank is far along, and two others are in what it has left."""
    lines = [LINES["2.2"].format(r=r).replace("=41", f"={n}") for r, n in ((0, 5324), (1, 5322), (2, 5322))]
    lines += [LINES["2.6"].format(r=r).replace("41", "5322").replace("40", "5321") for r in (1, 2)]
    scene = read("\n".join(lines).replace("work: 45", "work: 5322").replace("ALLREDUCE", "BROADCAST"))
    assert stood(scene) == {0: 5324, 1: 5322, 2: 5322}
    assert found(scene) == [("rank-stuck", "FAIL")]
    assert "look also whether all name rank 0 as the root" in message(scene)
    far = read("\n".join(lines).replace("=5324", "=41"))
    assert "no data from rank 0" in message(far)


def test_numbers_far_apart_are_of_groups_that_have_no_name():
    """Ranks of one group wait for each other: none is 30,000 operations behind."""
    said = LINES["2.2"]
    numbers = {0: 41, 1: 41, 2: 32041, 3: 32041}
    scene = read("".join(said.replace("=41", f"={n}").format(r=r) + "\n" for r, n in numbers.items()))
    assert {name for name, _ in found(scene)} == {"evidence-short"}
    assert len(scene.communicators) == 2


def test_of_timeouts_of_one_rank_it_waits_in_the_first():
    said = "".join(LINES["2.2"].replace("=41", f"={n}").format(r=0) + "\n" for n in (42, 41, 43))
    assert stood(read(said)) == {0: 41}


def test_a_watchdog_that_is_stuck_in_a_group_without_a_name():
    said = "[E930 15:23:00.0 ProcessGroupNCCL.cpp:1487] [PG ID 4 PG GUID  Rank {r}] ProcessGroupNCCL's watchdog got "
    scene = read("".join(said.format(r=rank) + "stuck for 10 seconds without making progress\n" for rank in (2, 0)))
    assert found(scene) == [("watchdog-stuck", "FAIL")]
    assert "ranks 0,2 made no progress for 10 s" in message(scene)


def test_counts_of_coalesced_operations_that_gather():
    said = LINES["2.2"].replace("ALLREDUCE", "COALESCED")
    one, two = (said.replace("NumelIn=8, NumelOut=8", f"NumelIn={n}, NumelOut={n * 8}") for n in (56320, 76800))
    scene = read(one.format(r=4) + "\n" + two.format(r=6) + "\n")
    assert found(scene) == [("operation-mismatch", "FAIL")]
    assert "rank 4 called coalesced of 56320; rank 6 called coalesced of 76800: counts differ" in message(scene)


def test_counts_of_messages_in_a_batch_need_not_be_equal():
    said = LINES["2.2"].replace("ALLREDUCE", "COALESCED")
    one, two = (said.replace("NumelIn=8, NumelOut=8", f"NumelIn={n}, NumelOut={n}") for n in (5, 7))
    assert found(read(one.format(r=4) + "\n" + two.format(r=6) + "\n")) == [("evidence-short", "UNKNOWN")]


def test_a_record_between_two_blocks(tmp_path):
    one = LINES["2.6"].format(r=2)
    scene, log = JobState(), RankLog()
    log.read([(one[:90] + "\n").encode(), (one[90:] + "\n").encode()])
    log.put(scene)
    assert stood(scene) == {2: 41}


def test_stacks_of_failed_collectives_name_the_place_in_the_program(tmp_path):
    write_dumps(tmp_path, {rank: dump(up_to(41, waits=41)) for rank in range(2)})
    stack = "#0 all_reduce from /opt/torch/distributed/distributed_c10d.py:3174\n#1 step from /app/train.py:88\n"
    lines = [
        f"[rank{rank}]:[E603 17:48:00.0 x.cpp:801] Stack trace of the failed collective: \n{stack}" for rank in (0, 1)
    ]
    (tmp_path / "log").write_text("".join(lines) + watchdog(0))
    scene = scene_of(tmp_path)
    assert [(one.rank, one.operation, one.at) for one in scene.stacks] == [
        (rank, "all_reduce", "step (train.py:88)") for rank in (0, 1)
    ]


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_whatever_is_cut_out_or_put_between(data):
    log = "".join(line.format(r=rank) + "\n" for rank, line in enumerate(LINES.values()))
    begin = data.draw(st.integers(0, len(log)))
    end = data.draw(st.integers(begin, min(len(log), begin + 400)))
    noise = data.draw(st.text(max_size=20) | st.sampled_from(["[Rank ", "99999999999999999999", "(", "\n"]))
    assert verdict(read(log[:begin] + noise + log[end:])).text


def test_a_wait_that_blocks_until_its_time_is_over_names_its_operation():
    waited = "Work " + GAVE_UP.split("timeout: ")[1].split(" ran ")[0] + " timed out in blocking wait."
    lines = [LINES["2.2"].format(r=1), *(f"[rank{r}]:[E1002 18:16:40.6 x.cpp:756] [Rank {r}] {waited}" for r in (1, 5))]
    scene = read("\n".join(lines))
    assert stood(scene) == {1: 41, 5: 41}
    assert "ranks 1,5 wait in all_reduce #41" in message(scene)


def test_watchdogs_that_gave_up_while_all_operations_are_over_never_pass():
    head = "[rank{r}]:[E418 01:32:50.9 x.cpp:1890] [PG ID 0 PG GUID 0(default_pg) Rank {r}] "
    signals = [
        head.format(r=r) + SIGNAL.format(who=who, number=9) for r, who in ((1, "this local rank"), (0, "rank 1"))
    ]
    scene = read("\n".join(signals))
    assert found(scene) == [("evidence-short", "UNKNOWN")]
    assert "the watchdog of ranks 0-1 gave up" in message(scene)
    assert verdict(scene).is_stuck
