# SPDX-License-Identifier: Apache-2.0
"""Runs choose by the tuning file, and every row has the model's prediction for what ran."""

import json
import os

import pytest
from tests.cli.command import document, railgauge, refused, run

from railgauge.collectives.cost.host_choice import chosen, quickest
from railgauge.collectives.cost.host_cost import host_cost
from railgauge.collectives.cost.host_ranks import HostRanks
from railgauge.collectives.tuning_file import Timed, TuningPlace, this_machine, tuning_document
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective

TWO = ("--ranks", "2", "--device", "cpu", "-b", "8", "-e", "4K", "-f", "8", "-n", "2")


@pytest.fixture
def tuned(tmp_path):
    """A file in which rings are quickest up to 64 B, and trees above."""
    times = {Algorithm.RING: {64: 1.0, 4096: 2.0}, Algorithm.TREE: {64: 2.0, 4096: 1.0}}
    measured = tuple(
        Timed(collective=Collective.ALL_REDUCE, algorithm=algorithm, bytes=size, time_us=time_us)
        for algorithm, by_size in times.items()
        for size, time_us in by_size.items()
    )
    path = tmp_path / "tuning.json"
    cores = len(os.sched_getaffinity(0))
    here = TuningPlace(machine=this_machine(), ranks=2, nodes=1, cores=cores, memories=1)
    path.write_text(json.dumps(tuning_document({here: measured})))
    return str(path)


def ran(*args, **env):
    return [(row["bytes"], row["algorithm"]) for row in document(*args, **env)["rows"]]


def test_the_quickest_of_the_file_runs(tuned):
    found = ran(*TWO, RAILGAUGE_TUNING_FILE=tuned)
    assert found == [(8, "ring"), (64, "ring"), (512, "tree"), (4096, "tree")]


def test_nccl_algo_counts_over_the_file(tuned):
    assert {algorithm for _, algorithm in ran(*TWO, RAILGAUGE_TUNING_FILE=tuned, NCCL_ALGO="Ring")} == {"ring"}


def test_times_of_other_ranks_say_nothing(tuned):
    assert ran("--ranks", "3", *TWO[2:], RAILGAUGE_TUNING_FILE=tuned)[0] == (8, "one-shot")


def test_times_over_shared_memory_say_nothing_without_it(tuned):
    found = ran(*TWO, RAILGAUGE_TUNING_FILE=tuned, NCCL_SHM_DISABLE="1", NCCL_SOCKET_IFNAME="lo")
    assert (512, "tree") not in found


def test_what_is_measured_is_told_and_later_runs_choose_by_it(tmp_path):
    path = tmp_path / "folder" / "tuning.json"
    result = railgauge("run", "sendrecv", "--ranks", "2", "--tune", "--json", RAILGAUGE_TUNING_FILE=str(path))
    assert result.returncode == 0, result.stderr
    measured = json.loads(result.stdout)["measured"]
    assert {one["algorithm"] for one in measured} == {"one-shot", "pairs"}
    (entry,) = json.loads(path.read_text())["entries"]
    assert entry["measured"] == measured
    most = max(one["bytes"] for one in measured)
    times = {name: {} for name in (Algorithm.ONE_SHOT, Algorithm.PAIRS)}
    for one in measured:
        times[one["algorithm"]][one["bytes"]] = one["time_us"]
    flags = ("--ranks", "2", "-b", str(most), "-e", str(most), "-n", "1", "--json")
    row = json.loads(railgauge("run", "sendrecv", *flags, RAILGAUGE_TUNING_FILE=str(path)).stdout)["rows"][0]
    assert row["algorithm"] == chosen(quickest(times), most)


def test_a_file_that_could_not_be_written_is_told_before_anything_is_measured(tmp_path):
    (tmp_path / "file").write_text("{}")
    for place, status, words in (
        (tmp_path / "file", 5, "not a tuning file"),
        (tmp_path / "file" / "x", 3, "cannot create the tuning file's directory"),
    ):
        result = refused("--ranks", "2", "--tune", RAILGAUGE_TUNING_FILE=str(place))
        assert (result.returncode, result.stdout) == (status, ""), result.stderr
        assert words in result.stderr


@pytest.mark.parametrize(
    "flags",
    [
        ("--min-busbw", "1"),
        ("--expect-transport", "SHM"),
        ("--compare", "old.json"),
        ("--fault", "flip"),
        ("--record", "record.json"),
        ("-o", "curves.svg"),
    ],
)
def test_what_is_asked_of_rows_cannot_be_asked_of_tune(flags):
    result = refused("--ranks", "2", "--tune", *flags)
    assert result.returncode == 2
    assert f"--tune gives no rows, which {flags[0]}" in result.stderr


def test_settings_that_would_distort_times_are_refused():
    result = refused("--ranks", "2", "--tune", NCCL_BUFFSIZE="65536")
    assert result.returncode == 2
    assert "unset NCCL_BUFFSIZE" in result.stderr


def test_a_file_in_the_usual_place_that_is_none_is_only_warned_of(tmp_path):
    (tmp_path / "railgauge").mkdir()
    (tmp_path / "railgauge" / "tuning.json").write_text('{"schema": "railgauge/tuning/2"}')
    result = run(*TWO, XDG_CACHE_HOME=str(tmp_path), RAILGAUGE_TUNING_FILE="")
    assert result.returncode == 0, result.stderr
    assert "using the cost model for algorithms" in result.stderr


def test_a_bad_file_ends_the_run_with_its_name_and_a_remedy(tmp_path):
    path = tmp_path / "tuning.json"
    path.write_text("{}")
    result = run(*TWO, RAILGAUGE_TUNING_FILE=str(path))
    assert result.returncode == 5
    assert f"{path}: not a tuning file ('schema' is missing): remove it, or measure again with --tune" in result.stderr
    assert "Traceback" not in result.stderr


def test_rows_have_what_the_model_says_of_what_ran():
    cores = len(os.sched_getaffinity(0))
    for name in ("one-shot", "ring"):
        settings = {"NCCL_ALGO": "Ring"} if name == "ring" else {}
        for row in document(*TWO, RAILGAUGE_TUNING_FILE="/dev/null", **settings)["rows"]:
            where = HostRanks(ranks=2, cores=cores)
            time_us = host_cost(where, Collective.ALL_REDUCE, Algorithm(row["algorithm"]), row["bytes"]).time_us
            assert row["algorithm"] == name
            assert row["predicted_busbw_gb_per_s"] == pytest.approx(row["bytes"] / time_us / 1e3)


@pytest.mark.parametrize(("setting", "protocols"), [("", ["ll", "simple"]), ("Simple", ["simple", "simple"])])
def test_rows_have_the_protocol_and_nccl_proto_leaves_it_out(setting, protocols):
    rows = document(*TWO, RAILGAUGE_TUNING_FILE="/dev/null", NCCL_PROTO=setting)["rows"]
    assert [row["protocol"] for row in rows[:2]] == protocols
