# SPDX-License-Identifier: Apache-2.0
"""Reports of NCCL's RAS, as text of several releases and as JSON, tell the rank that is behind, gone or in error."""

import json
from pathlib import Path

import pytest
from tests.topo.jobs.hang import ras
from tests.topo.jobs.hang.reading import found, message, scene_of

from railgauge.topo.jobs.hang.model import Status
from railgauge.topo.jobs.hang.verdict import verdict

SAMPLE = Path(__file__).parents[5] / "shared" / "samples" / "ncclras-mismatch.txt"


def scene_of_reports(tmp_path, *reports):
    paths = []
    for number, report in enumerate(reports):
        paths.append(tmp_path / f"ras-{number}.txt")
        paths[-1].write_text(report if isinstance(report, str) else json.dumps(report, indent=2))
    return scene_of(*paths)


def counts(**collectives):
    return [ras.json_rank(rank, collectives) for rank in range(8)]


def test_the_rank_behind_is_named(tmp_path):
    scene = scene_of_reports(tmp_path, ras.behind())
    assert found(scene) == [("rank-behind", "FAIL")]
    assert message(scene) == (
        "rank 7 has not entered AllReduce #41 (communicator 0xc0ffee01, 8 ranks on 2 nodes); ranks 0-6 have called it; "
        "its last call: AllReduce #40"
    )


def test_ranks_of_an_old_release_that_have_called_nothing(tmp_path):
    warnings = ras.OLD_MISMATCH.format(two=ras.where(2))
    scene = scene_of_reports(tmp_path, ras.text(ras.row("MISMATCH"), warnings=warnings, release="2.24.3"))
    assert message(scene).startswith("ranks 2-3 have not entered collective #1 ")
    assert "ranks 0-1,4-7 have called it; they had called no operation before" in message(scene)


def test_ranks_without_names_are_counted(tmp_path):
    warnings = (
        "#0-0 (c0ffee01) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
        "  5 ranks have launched up to operation 41\n  3 ranks have launched up to operation 40\n\n"
    )
    scene = scene_of_reports(tmp_path, ras.text(ras.row("MISMATCH"), warnings=warnings))
    assert found(scene) == [("rank-behind", "FAIL")]
    assert "have called different numbers of AllReduce: 3 at #40, 5 at #41" in message(scene)
    assert "ncclras -v" in verdict(scene).findings[0].remedy


def test_ranks_as_people_quote_them(tmp_path):
    warnings = "#0-0 (c0ffee01) MISMATCH\n  Communicator ranks have different AllGather operation counts\n"
    warnings += "  Rank 1 has launched up to operation 41\n  Rank 0 has launched up to operation 40\n"
    scene = scene_of_reports(tmp_path, ras.text(ras.row("MISMATCH"), warnings=warnings))
    assert found(scene) == [("rank-behind", "FAIL")]
    assert "rank 0 has not entered AllGather #41" in message(scene)


def test_details_that_cannot_be_read_leave_the_complaint(tmp_path):
    warnings = "#0-0 (c0ffee01) MISMATCH\n  new words\n"
    scene = scene_of_reports(tmp_path, ras.text(ras.row("MISMATCH"), warnings=warnings))
    assert found(scene) == [("rank-behind", "FAIL")]
    assert "the details are not in the file" in message(scene)


def test_ranks_that_called_another_operation(tmp_path):
    warnings = "#0-0 (c0ffee01) MISMATCH\n"
    for name, others, own in (("AllGather", 6, 7), ("AllReduce", 41, 40)):
        warnings += (
            f"  Communicator ranks have different {name} operation counts\n"
            f"  7 ranks have launched up to operation {others}\n"
            f"  Rank 3 has launched up to operation {own} -- {ras.where(3)}\n\n"
        )
    scene = scene_of_reports(tmp_path, ras.text(ras.row("MISMATCH"), warnings=warnings))
    assert found(scene) == [("operation-mismatch", "FAIL")]
    assert "rank 3 called AllGather where ranks 0-2,4-7 called AllReduce" in message(scene)


@pytest.mark.parametrize("line", ["The missing rank: 5", f"Rank 5 -- {ras.where(5)}"])
@pytest.mark.parametrize("dead", [False, True])
def test_a_process_that_does_not_answer(tmp_path, line, dead):
    process = "Process 1005 on node 10.0.0.2 managing GPU 1"
    said = "DEAD\n  1 job process is considered dead (unreachable via the RAS network)"
    errors = f"{said if dead else 'INCOMPLETE'}\n  {process}\n\n"
    errors += f"#0-0 (c0ffee01) INCOMPLETE\n  Missing communicator data from 1 rank\n  {line}\n\n"
    scene = scene_of_reports(tmp_path, ras.text(ras.row("INCOMPLETE"), errors=errors))
    assert found(scene) == [("rank-missing", "FAIL")]
    assert message(scene).startswith("rank 5 of communicator 0xc0ffee01, 8 ranks on 2 nodes: ")
    assert any("process 1005 on node 10.0.0.2 (GPU 1)" in note for note in scene.notes)
    assert scene.communicators["0xc0ffee01"].status[5] is (Status.DEAD if dead else Status.SILENT)


@pytest.mark.parametrize("number", [1, 6])
@pytest.mark.parametrize("how", ["is dead", "does not answer"])
def test_processes_that_no_communicator_names_are_a_finding(tmp_path, how, number):
    """Where the others have taken their communicators down already, RAS has none to report."""
    head = "DEAD\n  1 job process is considered dead (unreachable via the RAS network)"
    head = head if how == "is dead" else "INCOMPLETE\n  Missing communicator data from 1 job process"
    rows = "".join(f"  Process {1000 + n} on node 10.0.0.2 managing GPU {n}\n" for n in range(number))
    report = f"Communicators... (0.01s)\n=============\n\nNo communicator data collected!\n\n{head}\n{rows}\n"
    scene = scene_of_reports(tmp_path, report + ras.WARNINGS)
    assert found(scene) == [("rank-missing", "FAIL")]
    assert f"process 1000 on node 10.0.0.2 (GPU 0) {how}" in message(scene)
    assert ("and 2 more" in message(scene)) is (number == 6)
    assert verdict(scene).is_stuck


UNNAMED = {
    "processes": ("INCOMPLETE\n  Missing communicator data from 20 job processes\n\n", "rank-missing"),
    "dead processes": (
        "DEAD\n  20 job processes are considered dead (unreachable via the RAS network)\n\n",
        "rank-missing",
    ),
    "ranks": ("#0-0 (c0ffee01) INCOMPLETE\n  Missing communicator data from 5 ranks\n\n", "rank-missing"),
    "timeouts": (
        "TIMEOUT\n  Encountered 2 communication timeouts while gathering communicator data\n\n",
        "rank-missing",
    ),
    "errors": (
        "#0-0 (c0ffee01) ERROR\n  Asynchronous errors on 6 ranks\n  6 ranks reported System error\n\n",
        "rank-failed",
    ),
    "starts": (
        "#0-0 (c0ffee01) MISMATCH\n  Communicator ranks have different status\n  4 ranks have status INIT\n"
        "  4 ranks have status RUNNING\n\n",
        "start-stuck",
    ),
    "status": (
        "#0-0 (c0ffee01) MISMATCH\n  Communicator ranks have different status\n  4 ranks have status ABORT\n"
        "  4 ranks have status RUNNING\n\n",
        "rank-left",
    ),
}


@pytest.mark.parametrize("what", UNNAMED)
def test_ranks_that_are_counted_and_not_named_are_a_finding(tmp_path, what):
    errors, identifier = UNNAMED[what]
    judged = verdict(scene_of_reports(tmp_path, ras.text(ras.row(), errors=errors)))
    assert [finding.id for finding in judged.findings] == [identifier]
    assert any(number in judged.text for number in ("20", "5 ranks", "2 communication", "6 ranks", "4 INIT", "4 ABORT"))


@pytest.mark.parametrize(
    ("error", "identifier"), [("MISMATCH", "rank-behind"), ("ERROR", "rank-failed"), ("INCOMPLETE", "rank-missing")]
)
def test_a_table_without_its_details_is_a_finding(tmp_path, error, identifier):
    scene = scene_of_reports(tmp_path, ras.text(ras.row(error)))
    assert found(scene) == [(identifier, "FAIL")]
    assert message(scene) == f"RAS reports {error} in 1 communicator of 8 ranks; the details are not in the file"


def test_ranks_of_which_an_old_release_knows_nothing(tmp_path):
    warnings = (
        "#0-0 (c0ffee01) MISMATCH\n  Communicator ranks have different status\n  6 ranks have status RUNNING\n"
        "  2 ranks have status UNKNOWN\n  The unknown ranks: 2,5\n\n"
    )
    scene = scene_of_reports(tmp_path, ras.text(ras.row("MISMATCH"), warnings=warnings, release="2.24.3"))
    assert "ranks 2,5" in message(scene)


def test_the_totals_of_the_job_are_its_size(tmp_path):
    assert scene_of_reports(tmp_path, ras.text(ras.row())).size == 8


def test_errors_of_ranks(tmp_path):
    errors = (
        "#0-0 (c0ffee01) ERROR\n  Asynchronous errors on 3 ranks\n  2 ranks reported Remote process error\n"
        f"  Rank 0 -- {ras.where(0)}\n  Rank 1 -- {ras.where(1)}\n  Rank 4 reported System error -- {ras.where(4)}\n\n"
    )
    scene = scene_of_reports(tmp_path, ras.text(ras.row("ERROR"), errors=errors))
    assert found(scene) == [("rank-failed", "FAIL")] * 2
    assert scene.communicators["0xc0ffee01"].trouble == {
        0: "Remote process error",
        1: "Remote process error",
        4: "System error",
    }


@pytest.mark.parametrize("left", ["NOCOMM", "UNKNOWN", "FINALIZE"])
def test_ranks_that_have_left(tmp_path, left):
    warnings = (
        "#0-0 (c0ffee01) MISMATCH\n  Communicator ranks have different status\n  7 ranks have status RUNNING\n"
        f"  Rank 2 has status {left} -- {ras.where(2)}\n\n"
    )
    scene = scene_of_reports(tmp_path, ras.text(ras.row("MISMATCH"), warnings=warnings))
    assert found(scene) == [("rank-left", "WARN")]


def test_a_communicator_that_is_being_made(tmp_path):
    scene = scene_of_reports(tmp_path, ras.text(ras.row(status="INIT")))
    assert found(scene) == [("start-stuck", "FAIL")]


def test_a_healthy_report_says_what_it_cannot_know(tmp_path):
    scene = scene_of_reports(tmp_path, ras.text(ras.row(comms=3)))
    assert found(scene) == []
    assert "RAS: no problem found in 3 communicators of 8 ranks each (status RUNNING)" in scene.notes


def test_json_names_the_rank_behind_and_its_node(tmp_path):
    ranks = counts(AllReduce=41)
    ranks[7] = ras.json_rank(7, {"AllReduce": 40})
    scene = scene_of_reports(tmp_path, ras.json_report(ranks))
    assert found(scene) == [("rank-behind", "FAIL")]
    assert message(scene).startswith(
        "rank 7 has not entered AllReduce #41 (communicator 0xc0ffee01, 8 ranks on 2 nodes)"
    )


def test_json_of_a_job_whose_counts_move_has_nothing_odd(tmp_path):
    first, second = counts(AllReduce=41), counts(AllReduce=44)
    first[7], second[7] = ras.json_rank(7, {"AllReduce": 40}), ras.json_rank(7, {"AllReduce": 43})
    assert found(scene_of_reports(tmp_path, ras.json_report(first), ras.json_report(second))) == []


def test_json_of_a_rank_that_stands_while_the_others_go_on(tmp_path):
    first, second = counts(AllReduce=41), counts(AllReduce=44)
    first[7] = second[7] = ras.json_rank(7, {"AllReduce": 40})
    scene = scene_of_reports(tmp_path, ras.json_report(first), ras.json_report(second))
    assert found(scene) == [("rank-behind", "FAIL")]
    assert message(scene).startswith("rank 7 has not entered AllReduce #41 ")


def test_json_of_a_rank_that_is_gone(tmp_path):
    report = ras.json_report(counts(AllReduce=41)[:7], [ras.json_missing(7, considered_dead=True)])
    scene = scene_of_reports(tmp_path, report)
    assert found(scene) == [("rank-missing", "FAIL")]
    assert message(scene).endswith("8 ranks on 2 nodes: dead (process 1007 on node 10.0.0.2 is dead, says RAS)")


def test_json_of_a_start_that_does_not_end(tmp_path):
    ranks = [ras.json_rank(rank, {}, init_state=7) for rank in range(7)]
    scene = scene_of_reports(tmp_path, ras.json_report(ranks, [ras.json_missing(7)]))
    assert ("start-stuck", "FAIL") in found(scene)
    assert scene.communicators["0xc0ffee01"].status[7] is Status.SILENT


def test_of_two_looks_at_an_older_release_the_last_counts(tmp_path):
    healthy, starting = ras.text(ras.row()), ras.text(ras.row(status="INIT"))
    assert found(scene_of_reports(tmp_path, ras.behind(), ras.behind())) == [("rank-behind", "FAIL")]
    assert found(scene_of_reports(tmp_path, ras.behind(), healthy)) == []
    assert found(scene_of_reports(tmp_path, healthy, ras.behind())) == []
    assert found(scene_of_reports(tmp_path, starting, healthy)) == []
    assert found(scene_of_reports(tmp_path, starting, starting)) == [("start-stuck", "FAIL")]


def test_ranks_that_leave_between_two_looks_are_not_odd(tmp_path):
    left = [ras.json_rank(rank, {}, destroy_flag=rank == 3) for rank in range(8)]
    reports = ras.json_report(counts()), ras.json_report(left)
    assert found(scene_of_reports(tmp_path, *reports)) == []
    assert found(scene_of_reports(tmp_path, *reversed(reports), reports[1], reports[1])) == [("rank-left", "WARN")]


def test_a_look_that_cannot_be_read_leaves_the_one_before(tmp_path):
    broken = ras.json_report([{"rank": 0}])
    scene = scene_of_reports(tmp_path, ras.behind(), broken)
    assert found(scene) == [("rank-behind", "FAIL")]
    assert any("ras-1.txt: not the JSON of ncclras" in note for note in scene.notes)


def test_a_hash_is_one_in_text_and_json(tmp_path):
    ranks = counts(AllReduce=41)
    ranks[7] = ras.json_rank(7, {"AllReduce": 40})
    assert list(scene_of_reports(tmp_path, ras.behind()).communicators) == ["0xc0ffee01"]
    assert list(scene_of_reports(tmp_path, ras.json_report(ranks)).communicators) == ["0xc0ffee01"]


def test_the_sample():
    if not SAMPLE.exists():
        pytest.skip("no shared samples here")
    scene = scene_of(SAMPLE)
    assert found(scene) == [("rank-behind", "FAIL")]
    assert message(scene).startswith("ranks 0-11,14-31 have not entered AllGather #641 ")


def test_a_communicator_without_ranks_lacks_none(tmp_path):
    """RAS of 2.27.3 lists such, and numbers of ranks beyond any job."""
    group = "    2         4         0         0         0         0    NOCOMM  INCOMPLETE,MISMATCH\n"
    lost = "#2-0 (93d7000200000001) INCOMPLETE\n  Missing communicator data from 255 ranks\n  Rank 1057455228 -- GPU 0 "
    lost += "managed by process 4 on node n0\n"
    scene = scene_of_reports(tmp_path, f"Communicators... (0.00s)\n\n{group}\nErrors\n======\n\n{lost}")
    assert not found(scene)
    assert any("without a rank" in note for note in scene.notes)


@pytest.mark.parametrize("around", ["[pod/a] ", "2024-05-01T12:00:00Z ", "> "])
def test_lines_with_prefixes(tmp_path, around):
    report = "\n".join(around + line for line in ras.behind().split("\n"))
    assert found(scene_of_reports(tmp_path, report)) == [("rank-behind", "FAIL")]
