# SPDX-License-Identifier: Apache-2.0
"""Causes come first and alone; what follows from them is below them. Faults are made as real ones look."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.jobs.hang.reading import dump, entry, up_to
from tests.topo.jobs.hang.test_flight_dump import scene_of_dumps

from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.hang.verdict import verdict

STAGES, WIDTH = 4, 4
"""A pipeline of stages; each has ranks that work together (a group "10", "11", ...), its messages are of the world."""
RANKS = STAGES * WIDTH
GROUPS = {str(10 + stage): range(stage * WIDTH, (stage + 1) * WIDTH) for stage in range(STAGES)}


def only(scene):
    (finding,) = verdict(scene).findings
    return finding


class Pipeline:
    """Ranks that run over collectives of their stage and messages to the next one; a dump has what is under way."""

    def __init__(self):
        self.called = dict.fromkeys(range(RANKS), 0)  # the last collective of its stage
        self.over = dict.fromkeys(range(RANKS), 0)
        self.messages = {rank: [] for rank in range(RANKS)}

    def collective(self, rank, called, over):
        self.called[rank], self.over[rank] = called, over

    def waits_for_previous(self, rank):
        self.messages[rank].append(f"recv {rank}<-{rank - WIDTH}")

    def dumps(self):
        return {rank: self._dump(rank) for rank in range(RANKS)}

    def _dump(self, rank):
        group = str(10 + rank // WIDTH)
        waits = [entry(7, name, "scheduled", record_id=500 + n) for n, name in enumerate(self.messages[rank])]
        waits += [
            entry(number, state="scheduled", group=group, about="stage", record_id=600 + number)
            for number in range(self.over[rank] + 1, self.called[rank] + 1)
        ]
        status = {"0": (7, 7), group: (self.called[rank], self.over[rank])}
        content = dump(waits, GROUPS | {"0": range(RANKS)}, RANKS)
        content["pg_config"] = {name: content["pg_config"][name] for name in ("0", group)}
        local = {"0": "0", group: "3"}
        content["pg_status"] = {
            local[name]: {"last_enqueued_collective": called, "last_completed_collective": over}
            for name, (called, over) in status.items()
        }
        for one in content["entries"]:
            one["pg_id"] = int(local[one["process_group"][0]])
        return content


def stuck_gpu(culprit, *, ahead):
    """Its peers have left the collective that its GPU does not end; the stages behind wait for its stage."""
    job = Pipeline()
    stage = culprit // WIDTH
    for rank in range(RANKS):
        job.collective(rank, 90, 90)
        if rank // WIDTH == stage:
            job.collective(rank, 96, 90 + ahead)
        elif rank // WIDTH > stage:
            job.waits_for_previous(rank)
            job.collective(rank, 93, 90)
        else:
            job.messages[rank].append(f"recv {rank}<-{rank + WIDTH}")
            job.collective(rank, 95, 90)
    job.collective(culprit, 90 + ahead + 1, 90)
    return job.dumps()


def idle_host(culprit):
    """It has called nothing since, and waits in nothing; its stage waits for it, and the other stages for that."""
    job = Pipeline()
    stage = culprit // WIDTH
    for rank in range(RANKS):
        job.collective(rank, 95, 90)
        if rank // WIDTH > stage:
            job.waits_for_previous(rank)
        elif rank // WIDTH < stage:
            job.messages[rank].append(f"recv {rank}<-{rank + WIDTH}")
    job.collective(culprit, 90, 90)
    return job.dumps()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, RANKS - 1), st.integers(1, 5))
def test_the_rank_that_is_still_in_what_its_peers_left_is_named_alone(culprit, ahead):
    finding = only(scene_of_dumps(stuck_gpu(culprit, ahead=ahead)))
    assert (finding.id, finding.level, finding.evidence["ranks"]) == ("rank-stuck", Level.FAIL, [culprit])
    assert finding.message.startswith(f"rank {culprit} is still in all_reduce #91 (process group 1")
    assert len(finding.evidence["follows"]) >= STAGES - 1
    assert "more operations wait for this" in finding.effect


@settings(max_examples=20, deadline=None)
@given(st.integers(0, RANKS - 1))
def test_the_rank_that_called_nothing_more_is_named_alone(culprit):
    finding = only(scene_of_dumps(idle_host(culprit)))
    assert (finding.id, finding.evidence["ranks"]) == ("rank-behind", [culprit])
    assert finding.message.startswith(f"rank {culprit} has not entered ")


@pytest.mark.parametrize("culprit", [0, 5, 15])
def test_a_rank_that_only_waits_for_a_message_posted_ahead_is_the_one_behind(culprit):
    """Else all would be a circle: it waits for a rank that waits for its stage."""
    dumps = idle_host(culprit)
    other = culprit - WIDTH if culprit >= WIDTH else culprit + WIDTH
    dumps[culprit]["entries"] = [entry(7, f"recv {culprit}<-{other}", "scheduled", record_id=400)]
    finding = only(scene_of_dumps(dumps))
    assert (finding.id, finding.evidence["ranks"]) == ("rank-behind", [culprit])
    assert "circle" not in finding.effect


@pytest.mark.parametrize("messages", [9000, 2])
def test_a_status_that_counts_messages_is_no_standing_in_collectives(messages):
    """The last operation of rank 2 in the group was a message, which PyTorch numbers by itself."""
    waits = [entry(500, state="scheduled", record_id=700)]
    dumps = {rank: dump(waits, ranks=3) for rank in (0, 1)} | {2: dump([], ranks=3)}
    status = {"last_enqueued_collective": messages, "last_completed_collective": messages}
    dumps[2]["pg_status"] = {"0": status}
    assert only(scene_of_dumps(dumps)).id == "evidence-short"


def test_a_rank_that_left_no_record_is_named_alone():
    dumps = idle_host(6)
    del dumps[6]
    finding = only(scene_of_dumps(dumps))
    assert (finding.id, finding.evidence["ranks"]) == ("rank-missing", [6])


def test_a_broadcast_that_some_have_left_does_not_blame_who_waits_elsewhere_before():
    """The root of a broadcast goes on at once: the others may be in it because they are held up before it."""
    groups = {"1": (0, 1), "2": (1, 2)}
    held = entry(1, state="scheduled", group="2", about="pair", record_id=1)
    late = entry(1, "broadcast", "scheduled", group="1", about="pair", record_id=2)
    root = entry(1, "broadcast", "completed", group="1", about="pair", record_id=1)
    dumps = {0: dump([entry(0), root], groups, 3), 1: dump([entry(0), held, late], groups, 3)}
    dumps[2] = dump([entry(0)], groups, 3)
    finding = only(scene_of_dumps(dumps))
    assert (finding.id, finding.evidence["ranks"]) == ("rank-behind", [2])


def test_a_mismatch_is_the_cause_of_what_waits_for_it():
    groups = {"1": (0, 1), "2": (1, 2)}
    dumps = {
        0: dump([entry(0), entry(1, state="scheduled", group="1", about="", elements=8)], groups, 3),
        1: dump([entry(0), entry(1, state="scheduled", group="1", about="", elements=9)], groups, 3),
        2: dump([entry(0), entry(1, state="scheduled", group="2", about="")], groups, 3),
    }
    finding = only(scene_of_dumps(dumps))
    assert finding.id == "operation-mismatch"
    assert finding.effect == "1 more operation waits for this, on rank 2: all_reduce #1 of process group 2 (group 2)"


def coalesced(sizes, state="started", *, closes="coalesced", name="all_reduce", dtype="Float"):
    """A group of collectives that share a number, and the entry that closes it."""
    inside = [
        entry(1, name, state="scheduled", record_id=1 + n, elements=size, input_dtypes=[dtype], output_dtypes=[dtype])
        for n, size in enumerate(sizes)
    ]
    end = entry(1, closes, state, record_id=1 + len(sizes), input_sizes=[], output_sizes=[])
    return dump([entry(0), *inside, end], ranks=3)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (coalesced([4, 8, 17]), "rank 1 called coalesced with 3 parts (#3 all_reduce of 17 Float)"),
        (coalesced([4, 8]), "rank 1 called coalesced with 2 parts; ranks 0,2 called coalesced with 3 parts (#3 "),
        (coalesced([4, 8, 16], dtype="Half"), "(#1 all_reduce of 4 Half, #2 all_reduce of 8 Half"),
    ],
)
def test_what_is_inside_of_a_coalesced_operation_is_compared(odd, words):
    finding = only(scene_of_dumps({0: coalesced([4, 8, 16]), 1: odd, 2: coalesced([4, 8, 16])}))
    assert (finding.id, finding.evidence["ranks"]) == ("operation-mismatch", [1])
    assert words in finding.message
    assert finding.message.endswith("parts differ")


@pytest.mark.parametrize(
    ("closes", "name"), [("ALLGATHER_coalesced", "_broadcast_oop"), ("REDUCE_SCATTER_coalesced", "_reduce_oop")]
)
def test_uneven_collectives_are_groups_too(closes, name):
    """PyTorch makes an uneven all_gather of broadcasts."""
    sizes = {0: [4, 8, 16], 1: [4, 8, 17], 2: [4, 8, 16]}
    finding = only(scene_of_dumps({rank: coalesced(some, closes=closes, name=name) for rank, some in sizes.items()}))
    assert (finding.id, finding.evidence["ranks"]) == ("operation-mismatch", [1])
    assert f"rank 1 called {closes} with 3 parts (#3 {name} of 17 Float)" in finding.message
    even = {rank: coalesced([4, 8, 16], "completed", closes=closes, name=name) for rank in range(3)}
    assert not verdict(scene_of_dumps(even)).findings


def test_a_rank_without_data_is_not_missed_where_others_called_differently():
    odd = [entry(4, state="started", elements=8 if rank == 1 else 16) for rank in range(4)]
    dumps = {rank: dump([*up_to(3), odd[rank]], ranks=5) for rank in range(4)}
    assert only(scene_of_dumps(dumps)).id == "operation-mismatch"


def test_tensors_of_one_operation_are_compared_each():
    """A sum of sizes that is equal hides that the sizes are in another order."""
    sizes = {0: [[4], [8]], 1: [[8], [4]], 2: [[4], [8]]}
    dumps = {
        rank: dump([entry(0), entry(1, "allreduce_coalesced", "started", input_sizes=some, input_dtypes=["Float"] * 2)])
        for rank, some in sizes.items()
    }
    finding = only(
        scene_of_dumps({rank: one | {"pg_config": dump([], ranks=3)["pg_config"]} for rank, one in dumps.items()})
    )
    assert (finding.id, finding.evidence["ranks"]) == ("operation-mismatch", [1])
    assert "2 parts (#1 8 Float, #2 4 Float)" in finding.message


def test_equal_coalesced_operations_are_stuck_together():
    finding = only(scene_of_dumps({rank: coalesced([4, 8]) for rank in range(3)}))
    assert finding.id == "operation-stuck"


@pytest.mark.parametrize("backend", ["gloo", "xccl", "hccl"])
def test_records_of_other_back_ends(backend):
    dumps = {rank: dump(up_to(43, waits=41)) for rank in range(7)} | {7: dump(up_to(40))}
    for content in dumps.values():
        for one in content["entries"]:
            one["profiling_name"] = one["profiling_name"].replace("nccl", backend)
    finding = only(scene_of_dumps(dumps))
    assert finding.message.startswith("rank 7 has not entered all_reduce #41 (process group 0 (default_pg), 8 ranks)")


def test_two_back_ends_of_one_group_count_by_themselves():
    """Rank 1 lacks gloo's second; NCCL's second is over everywhere."""
    nccl = [entry(n, record_id=n) for n in (0, 1, 2)]
    gloo = [
        entry(n, state="started" if n == 2 else "completed", profiling_name="gloo:all_reduce", record_id=2 + n)
        for n in (1, 2)
    ]
    dumps = {0: dump([*nccl, *gloo], ranks=2), 1: dump([*nccl, gloo[0]], ranks=2)}
    finding = only(scene_of_dumps(dumps))
    assert finding.message.startswith(
        "rank 1 has not entered all_reduce #2 (process group 0 (default_pg, gloo), 2 ranks)"
    )


def test_messages_of_whole_rings_are_counted_from_the_first():
    """The receiver is in its third; the sender has sent three and left."""
    sends = [entry(n, "send 0->1", "completed") for n in (0, 1, 2)]
    takes = [entry(n, "recv 1<-0", "completed" if n < 2 else "scheduled") for n in (0, 1, 2)]
    finding = only(scene_of_dumps({0: dump(sends, ranks=2), 1: dump(takes, ranks=2)}))
    assert (finding.id, finding.evidence["ranks"]) == ("rank-stuck", [1])


def test_circles_end_at_the_rank_that_is_still_in_what_others_left():
    groups = {"1": (0, 1), "2": (0, 1), "3": (0, 2)}
    old = [entry(n, group="3", about="", state="completed" if n < 5 else "scheduled", record_id=n) for n in range(1, 6)]
    left = [entry(n, group="3", about="", record_id=n) for n in range(1, 6)]
    waits = {g: entry(1, state="scheduled", group=g, about="", record_id=9) for g in "12"}
    dumps = {0: dump([entry(0), *old, waits["1"]], groups, 3), 1: dump([entry(0), waits["2"]], groups, 3)}
    dumps[2] = dump([entry(0), *left], groups, 3)
    findings = verdict(scene_of_dumps(dumps)).findings
    assert (findings[0].id, findings[0].evidence["ranks"]) == ("rank-stuck", [0])
    assert not any("circle" in one.effect for one in findings)
