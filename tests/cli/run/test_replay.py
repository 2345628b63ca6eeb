# SPDX-License-Identifier: Apache-2.0
"""`run --trace`: a job's operations replayed over their groups, beside the forecast."""

import json
from dataclasses import replace

import pytest
from tests.cli.command import railgauge
from tests.topo.jobs.traces.made import job_of_two_steps

from railgauge.cli.run.replay import nccl_times, replay_lines
from railgauge.collectives.document import RunDocument
from railgauge.collectives.engine import Engine
from railgauge.collectives.replay import ReplayRow
from railgauge.topo.machine import load_machine


@pytest.fixture
def traces(tmp_path):
    for rank in range(4):
        (tmp_path / f"rank{rank}.json").write_text(job_of_two_steps(rank))
    return str(tmp_path)


def test_as_many_ranks_as_the_trace_has_replay_it(traces):
    done = railgauge("run", "--trace", traces, "--device", "cpu", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["status"], found["collective"], found["ranks"], found["rows"]) == ("ok", "trace", 4, [])
    rows = {(row["collective"], tuple(row["ranks"])): row for row in found["replay"]}
    assert rows.keys() == {("all_reduce", (0, 1)), ("all_reduce", (2, 3)), ("all_gather", (0, 1, 2, 3))}
    for row in rows.values():
        assert (row["bytes"], row["dtype"], row["times"], row["wrong"]) == (2 << 20, "bfloat16", 2, 0)
        assert row["time_us"] > 0
        assert row["forecast_us"] > 0
    assert {name[0]: row["traced_us"] for name, row in rows.items()} == {"all_reduce": 50, "all_gather": 70}


def test_the_table_has_a_line_for_each_group_and_what_was_verified(traces):
    done = railgauge("run", "--trace", traces, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "# Replay of 6 operations, warmup iters: 1 validation: 1" in lines
    table = [line.split()[:6] for line in lines if not line.startswith("#")]
    assert sorted(row[5] for row in table) == ["0-1", "0-3", "2-3"]
    assert lines[-1] == "# Out of bounds values : 0 OK"
    assert (
        railgauge("run", "--trace", traces, "--device", "cpu", "-c", "0")
        .stdout.splitlines()[-1]
        .endswith("not verified")
    )


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (("all_reduce",), 2, "COLLECTIVE: --trace has the operations"),
        (("-b", "8", "-n", "3"), 2, "-b, -n: --trace has the operations"),
        (("-o", "a.svg", "--counters"), 2, "--counters, -o: --trace has the operations"),
        (("--ranks", "2"), 2, "--trace has 4 ranks, this run 2: use --ranks 4"),
        (("--engine", "nccl", "--device", "cpu"), 2, "GPU memory only"),
    ],
)
def test_what_does_not_go_with_a_trace(traces, args, status, words):
    device = () if "--device" in args else ("--device", "cpu")
    done = railgauge("run", "--trace", traces, *args, *device)
    assert (done.returncode, words in done.stderr) == (status, True), done.stderr


ROW = ReplayRow(
    collective="all_reduce", bytes=1 << 30, count=1 << 28, dtype="float", redop="sum", root=-1, ranks=[0, 2],
    times=1, time_us=1.0, busbw_gb_per_s=1.0, wrong=0, forecast_us=None, traced_us=None,
)  # fmt: skip


def test_the_sum_counts_each_time_and_has_a_forecast_if_all_have():
    rows = (replace(ROW, times=3, time_us=20.0, forecast_us=10.0), replace(ROW, times=2, time_us=5.0, forecast_us=4.0))
    document = RunDocument.failed("trace", 8, "", Engine.NCCL)
    assert "# Sum over all groups : 70.0 us, forecast 38.0 us" in replay_lines(replace(document, replay=rows))
    assert "# Sum over all groups : 71.0 us" in replay_lines(replace(document, replay=(*rows, ROW)))


def test_the_forecast_of_nccl_is_that_of_the_groups_gpus():
    document = replace(RunDocument.failed("trace", 8, "", Engine.NCCL), nodes=2, replay=(ROW,))
    (found,) = nccl_times(document, load_machine("@h200x4"))
    alone = (
        "graph",
        "predict",
        "-b",
        "1G",
        "--drop",
        "GPU1",
        "--drop",
        "GPU3",
        "--policy",
        "nccl",
        "--from",
        "@h200x4",
    )
    expected = json.loads(railgauge(*alone, "--json").stdout)["rows"][0]["time_us"]
    assert found == pytest.approx(expected, rel=1e-3)


def test_an_unreadable_trace_ends_before_anything_runs(tmp_path):
    path = tmp_path / "rank0.json"
    path.write_text('{"traceEvents": [')
    done = railgauge("run", "--trace", str(path), "--device", "cpu")
    assert (done.returncode, "damaged or cut off JSON" in done.stderr) == (5, True)
