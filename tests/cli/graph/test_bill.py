# SPDX-License-Identifier: Apache-2.0
"""railgauge graph predict --trace: the bill of a job, its shares, steps, and what-if."""

import json

import pytest
from tests.cli.command import in_process as railgauge
from tests.topo.jobs.traces.made import job_of_two_steps, kineto, kineto_call


def predict(*args):
    return railgauge("graph", "predict", *args)


def document(*args):
    done = predict(*args, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def traces(tmp_path):
    for rank in range(4):
        (tmp_path / f"rank{rank}.json").write_text(job_of_two_steps(rank, slower=rank))
    return str(tmp_path)


def single(*args):
    """The forecast of the command without a trace."""
    found = document(*args)["rows"]
    return found[0]["time_us"]


def test_each_line_is_the_forecast_of_its_group(traces):
    found = document("--trace", traces, "--from", "@h200x4")
    (step,) = found["steps"]
    assert (found["ranks"], found["nodes"], found["gpus_per_node"], step["steps"]) == (4, 1, 4, [5, 6])
    by_name = {row["collective"]: row for row in step["rows"]}
    size = ("-b", "2M", "-e", "2M", "-d", "bfloat16", "--from", "@h200x4")
    assert by_name["all_gather"]["each_us"] == pytest.approx(single("all_gather", *size))
    pair = single("all_reduce", *size, "--drop", "GPU2", "--drop", "GPU3")
    assert by_name["all_reduce"]["each_us"] == pytest.approx(pair, rel=1e-3)
    assert [one["ranks"] for one in by_name["all_reduce"]["groups"]] == [[0, 1], [2, 3]]
    assert by_name["all_reduce"]["placement"] == {"nodes": 1, "gpus": [0, 1], "assumed": None}
    assert [row["times"] for row in step["rows"]] == [1, 1]


def test_the_total_is_that_of_one_rank_and_shares_add_up(traces):
    (step,) = document("--trace", traces, "--from", "@h200x4")["steps"]
    assert step["total_us"] == pytest.approx(sum(row["total_us"] for row in step["rows"]), rel=1e-4)
    assert sum(row["share"] for row in step["rows"]) == pytest.approx(1, abs=1e-3)
    assert sum(one["share"] for one in step["groups"]) == pytest.approx(1, abs=1e-3)
    assert sum(one["share"] for one in step["limits"]) == pytest.approx(1, abs=1e-3)
    costs = [row["total_us"] for row in step["rows"]]
    assert costs == sorted(costs, reverse=True)


def test_the_rank_with_the_most_communication_makes_the_total(tmp_path):
    for rank, pair, elements in ((0, (0, 1), 1 << 20), (2, (2, 3), 1 << 28)):
        path = tmp_path / f"rank{rank}.json"
        path.write_text(kineto(rank, [kineto_call(1, "allreduce", elements, elements, pair)]))
    (step,) = document("--trace", str(tmp_path), "--from", "@h200x4")["steps"]
    large, small = step["rows"]
    assert (step["total_us"], large["share"]) == (large["total_us"], 1)
    assert small["share"] == pytest.approx(small["total_us"] / large["total_us"], abs=1e-3)


def test_measured_times_stand_beside_the_forecast(traces):
    (step,) = document("--trace", traces, "--from", "@h200x4")["steps"]
    by_name = {row["collective"]: row["measured_us"] for row in step["rows"]}
    assert by_name == {"all_reduce": 51.0, "all_gather": 70.0}  # the pairs' least times are 50 and 52
    assert step["measured_us"] == pytest.approx(50 + 70) or step["measured_us"] == pytest.approx(52 + 70)
    text = predict("--trace", traces, "--from", "@h200x4").stdout
    assert "steps 5-6, each: " in text
    assert "measured" in text


def test_groups_over_nodes_use_one_gpu_of_each(tmp_path):
    path = tmp_path / "rank0.json"
    calls = [kineto_call(1, "allreduce", 1 << 28, 1 << 28, (0, 8), dtype="Float")]
    path.write_text(kineto(0, [*calls, kineto_call(2, "allreduce", 1 << 28, 1 << 28, range(16), dtype="Float")], 16))
    found = document("--trace", str(path), "--from", "@dgx-h100")
    assert found["nodes"] == 2
    rows = {row["groups"][0]["size"]: row for row in found["steps"][0]["rows"]}
    assert rows[2]["placement"] == {"nodes": 2, "gpus": [0], "assumed": None}
    assert rows[2]["limit"]["device"].startswith("NIC")
    assert rows[2]["each_us"] > 3 * rows[16]["each_us"]  # one NIC instead of eight
    assert rows[16]["each_us"] == pytest.approx(
        single("-b", "1G", "-e", "1G", "--nodes", "2", "--from", "@dgx-h100"), rel=1e-3
    )


def test_a_change_is_beside_what_was_before(tmp_path):
    path = tmp_path / "rank0.json"
    path.write_text(kineto(0, [kineto_call(1, "allreduce", 1 << 28, 1 << 28, range(16), dtype="Float")], 16))
    args = ("--trace", str(path), "--from", "@dgx-h100")
    found = document(*args, "--drop", "NIC0", "--set", "NCCL_NVLS_ENABLE=0")
    assert found["change"]["edits"] == ["NCCL_NVLS_ENABLE=0", "drop NIC0"]
    (step,) = found["steps"]
    (row,) = step["rows"]
    assert row["before"]["time_us"] == document(*args)["steps"][0]["rows"][0]["each_us"]
    assert row["each_us"] > row["before"]["time_us"]
    assert (step["total_us"], step["before_us"]) == (row["each_us"], row["before"]["time_us"])
    assert "before (+" in predict(*args, "--drop", "NIC0").stdout


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (("all_reduce",), 2, "COLLECTIVE: the operations are those of --trace"),
        (("-b", "1M", "-d", "half"), 2, "-b, -d: the operations are those of --trace"),
        (("--drop", "GPU3"), 2, "a rank of the trace runs on it"),
        (("--from", "@laptop"), 2, "the machine has no GPU"),
        (("--from", "@dgx-h100", "--nodes", "2"), 0, ""),
    ],
)
def test_what_does_not_go_with_a_trace(traces, args, status, words):
    machine = () if "--from" in args else ("--from", "@h200x4")
    done = predict("--trace", traces, *args, *machine)
    assert (done.returncode, words in done.stderr) == (status, True)


def test_ranks_beyond_the_nodes_and_unreadable_traces(tmp_path):
    path = tmp_path / "rank0.json"
    path.write_text(kineto(0, [kineto_call(1, "allreduce", 8, 8, range(8))], 8))
    done = predict("--trace", str(path), "--from", "@h200x4", "--nodes", "1")
    assert (done.returncode, "give --nodes 2" in done.stderr) == (2, True)
    path.write_text("training loss 3\n")
    done = predict("--trace", str(path), "--from", "@h200x4")
    assert (done.returncode, "no trace of collectives" in done.stderr) == (5, True)
