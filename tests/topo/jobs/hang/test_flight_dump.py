# SPDX-License-Identifier: Apache-2.0
"""Flight records of PyTorch: the rank that is missing, behind or different is named, as its own analyser names it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.jobs.hang.reading import dump, entry, found, message, scene_of, up_to, write_dumps

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.hang.flight_dump import FlightDumps
from railgauge.topo.jobs.hang.model import JobState
from railgauge.topo.jobs.hang.verdict import verdict


def scene_of_dumps(dumps):
    scene = JobState()
    reader = FlightDumps(scene)
    for rank, content in dumps.items():
        reader.read(content, rank, f"trace_{rank}")
    reader.close()
    return scene


@pytest.mark.parametrize("as_json", [False, True])
def test_the_rank_that_did_not_call_is_named(tmp_path, as_json):
    dumps = {rank: dump(up_to(43, waits=41)) for rank in range(7)} | {7: dump(up_to(40))}
    scene = scene_of(write_dumps(tmp_path, dumps, as_json=as_json))
    assert found(scene) == [("rank-behind", "FAIL")]
    assert message(scene) == (
        "rank 7 has not entered all_reduce #41 (process group 0 (default_pg), 8 ranks); ranks 0-6 wait in it since "
        "2025-11-21T14:02:11Z; its last call: all_reduce #40"
    )


def test_a_rank_without_a_dump_is_missing():
    scene = scene_of_dumps({rank: dump(up_to(41, waits=41)) for rank in range(8) if rank != 3})
    assert found(scene) == [("rank-missing", "FAIL")]
    assert message(scene).startswith("no data from rank 3: it has ended, has not entered all_reduce #41 ")


def test_one_rank_alone_does_not_tell_for_whom_it_waits():
    scene = scene_of_dumps({0: dump(up_to(41, waits=41))})
    assert found(scene) == [("evidence-short", "UNKNOWN")]
    assert "no data from ranks 1-7" in message(scene)


def test_all_that_is_over_hangs_nowhere():
    scene = scene_of_dumps({rank: dump(up_to(41)) for rank in range(8)})
    assert found(scene) == []
    assert message(scene).startswith("nothing hangs")


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ({"name": "broadcast"}, "rank 5 called broadcast of 1024 Float; ranks 0-4,6-7 called all_reduce"),
        (
            {"elements": 512},
            "rank 5 called all_reduce of 512 Float; ranks 0-4,6-7 called all_reduce of 1024 Float: counts",
        ),
        (
            {"input_dtypes": ["BFloat16"]},
            "of 1024 BFloat16; ranks 0-4,6-7 called all_reduce of 1024 Float: types differ",
        ),
    ],
)
def test_an_operation_that_differs(odd, words):
    dumps = {rank: dump([*up_to(40), entry(41, state="started")]) for rank in range(8)}
    dumps[5] = dump([*up_to(40), entry(41, **{"state": "started"} | odd)])
    scene = scene_of_dumps(dumps)
    assert found(scene) == [("operation-mismatch", "FAIL")]
    assert words in message(scene)


def test_other_shapes_of_one_size_are_no_mismatch():
    dumps = {rank: dump(up_to(41)) for rank in range(8)}
    dumps[1]["entries"][-1] |= {"input_sizes": [[4, 256]], "output_sizes": [[4, 256]]}
    assert found(scene_of_dumps(dumps)) == []


def test_uneven_gathering_is_no_mismatch():
    dumps = {
        rank: dump([entry(0, "all_gather", input_sizes=[[rank + 1]], output_sizes=[[n + 1] for n in range(8)])])
        for rank in range(8)
    }
    assert found(scene_of_dumps(dumps)) == []


def test_an_operation_that_all_have_called_and_that_timed_out():
    stuck = entry(41, state="started", retired=True)
    scene = scene_of_dumps({rank: dump([*up_to(40), stuck]) for rank in range(8)})
    assert found(scene) == [("operation-stuck", "FAIL")]


def test_the_gpu_that_has_not_begun_is_named():
    dumps = {rank: dump([*up_to(40), entry(41, state="scheduled" if rank == 2 else "started")]) for rank in range(8)}
    scene = scene_of_dumps(dumps)
    assert found(scene) == [("operation-stuck", "WARN")]
    assert "the GPU of rank 2 has not begun it, that of ranks 0-1,3-7 has" in message(scene)


def test_the_rank_that_did_not_come_out_is_named():
    dumps = {rank: dump(up_to(41)) for rank in range(8)} | {6: dump(up_to(41, waits=41))}
    assert message(scene_of_dumps(dumps)).startswith("rank 6 is still in all_reduce #41")


def test_operations_of_a_coalesced_group_have_the_state_of_what_closes_it():
    inside = [entry(1, "send 0->1", "scheduled"), entry(1, "recv 0<-1", "scheduled", record_id=2)]
    closes = entry(1, "coalesced", "completed", is_p2p=True, p2p_seq_id=1, record_id=3)
    dumps = {0: dump([*inside, closes], ranks=2), 1: dump([entry(0)], ranks=2)}
    dumps[0]["entries"].insert(0, entry(0))
    assert found(scene_of_dumps(dumps)) == []


def test_a_receive_without_its_send():
    dumps = {0: dump([entry(0)], ranks=2), 1: dump([entry(0), entry(1, "recv 1<-0", "scheduled")], ranks=2)}
    scene = scene_of_dumps(dumps)
    assert found(scene) == [("rank-behind", "FAIL")]
    assert message(scene).startswith(
        "rank 0 has not entered send to rank 1 (process group 0 (default_pg), 2 ranks); rank 1 waits"
    )


def test_a_send_and_a_receive_of_other_sizes():
    dumps = {
        0: dump([entry(0), entry(1, "send 0->1", "scheduled", elements=8)], ranks=2),
        1: dump([entry(0), entry(1, "recv 1<-0", "scheduled", elements=16)], ranks=2),
    }
    scene = scene_of_dumps(dumps)
    assert found(scene) == [("operation-mismatch", "FAIL")]
    assert "ranks called different operations at rank 0 to rank 1" in message(scene)


def waits(group):
    """An entry of a rank that waits in the first operation of a group."""
    return entry(1, state="scheduled", group=group, about=f"group {group}")


def test_what_is_held_up_is_below_what_holds_it_up():
    groups = {"1": (0, 1, 2), "2": (2, 3)}
    dumps = {rank: dump([entry(0), waits("1")], groups, 4) for rank in (0, 1)}
    dumps |= {2: dump([entry(0), waits("2")], groups, 4), 3: dump([entry(0)], ranks=4)}  # 3 has not used its group yet
    (finding,) = verdict(scene_of_dumps(dumps)).findings
    assert (finding.id, finding.subject, str(finding.level)) == ("rank-behind", "process group 2 (group 2)", "FAIL")
    assert finding.message.startswith("rank 3 has not entered all_reduce #1 (process group 2 (group 2), 2 ranks)")
    assert finding.effect == "1 more operation waits for this, on ranks 0-1: all_reduce #1 of process group 1 (group 1)"
    assert finding.evidence["follows"] == [{"communicator": "1", "operation": "all_reduce #1", "waiting": [0, 1]}]


def test_two_groups_in_opposite_orders_are_a_circle():
    groups = {"1": (0, 1), "2": (0, 1)}
    scene = scene_of_dumps({0: dump([entry(0), waits("1")], groups, 2), 1: dump([entry(0), waits("2")], groups, 2)})
    assert found(scene) == [("rank-behind", "FAIL")] * 2
    assert "in a circle" in verdict(scene).findings[0].effect


def test_a_ring_that_lost_a_group_says_nothing_of_the_rank():
    dumps = {rank: dump(up_to(41, waits=41), {"1": range(8)}) for rank in range(7)}
    dumps[7] = dump(up_to(900, first=500, group="1", about="group 1"), {"1": range(8)})
    scene = scene_of_dumps(dumps)
    about_world = [finding for finding in verdict(scene).findings if "default_pg" in finding.subject]
    assert [finding.id for finding in about_world] == ["evidence-short"]
    assert "no data from rank 7" in about_world[0].message


def test_a_dump_of_nothing_but_what_is_under_way_does_not_tell_that_nothing_was_called():
    dumps = {rank: dump(up_to(41, waits=41)) for rank in range(7)}
    dumps[7] = dump([]) | {"pg_status": {"0": {"last_enqueued_collective": 41}}}
    assert found(scene_of_dumps(dumps)) == [("evidence-short", "UNKNOWN")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "field 'pg_config' is missing"),
        ({"pg_config": {}, "entries": [{}]}, "field"),
        ({"pg_config": 7}, "not a flight record of PyTorch"),
        (dump([entry(0, state="asleep")]), "not a flight record of PyTorch: 'asleep'"),
        (dump([entry(0, time_created_ns=10**40)]), "not a flight record of PyTorch"),
        (dump([entry("x")]), "not a flight record of PyTorch"),
        (dump([entry(0, profiling_name=[["nccl"]])]), "list in place of a text"),
        (dump([entry(0, state=["completed"])]), "list in place of a text"),
        (dump([entry(0, process_group=("0",))]), "not a flight record of PyTorch"),
        (dump([entry(0, input_sizes=[[7] * 100_000])]), "a tensor of 100000 dimensions"),
        (dump([entry(0, input_sizes=7)]), "not a flight record of PyTorch"),
        (dump([7]), "not a flight record of PyTorch"),
    ],
)
def test_what_is_no_dump_is_refused(content, words):
    with pytest.raises(InputError, match=words):
        FlightDumps(JobState()).read(content, 0, "trace_0")


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_whoever_is_missing_or_behind_is_always_named(data):
    ranks = data.draw(st.integers(3, 24))
    hung = data.draw(st.integers(2, 60))
    odd = data.draw(st.integers(0, ranks - 1))
    behind = data.draw(st.booleans())
    ahead = {rank: data.draw(st.integers(0, 4)) for rank in range(ranks)}
    dumps = {rank: dump(up_to(hung + ahead[rank], waits=hung), ranks=ranks) for rank in range(ranks) if rank != odd}
    if behind:
        dumps[odd] = dump(up_to(data.draw(st.integers(1, hung - 1))), ranks=ranks)
    order = data.draw(st.permutations(sorted(dumps)))
    judged = verdict(scene_of_dumps({rank: dumps[rank] for rank in order}))
    assert [finding.id for finding in judged.findings] == ["rank-behind" if behind else "rank-missing"]
    about = f"rank {odd} has" if behind else f"no data from rank {odd}: it has ended, has"
    assert judged.text.startswith(f"{about} not entered all_reduce #{hung} ")
    assert judged.findings[0].evidence["waiting"] == [rank for rank in range(ranks) if rank != odd]
