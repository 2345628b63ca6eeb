# SPDX-License-Identifier: Apache-2.0
"""The collectives' benchmark: what it wants of the data, what counts as an error, what its tables say."""

import json
import pathlib
import sys

import numpy as np
import pytest
from benchmarks.host_collectives import data, table, targets
from benchmarks.host_collectives.collectives import COLLECTIVES
from benchmarks.host_collectives.measurement import Job, MeasurementError, MissingError, Peer, WrongDataError, read_line
from benchmarks.host_collectives.results import read

RESULTS = pathlib.Path(table.__file__).parent / "results"
COUNT, RANKS = 4, 3


def inputs(name):
    what = COLLECTIVES[name]
    return [data.value(r, np.arange(data.input_size(what, COUNT, r, RANKS))) for r in range(RANKS)]


def outputs(name):
    return [data.expected(COLLECTIVES[name], COUNT, rank, RANKS).tolist() for rank in range(RANKS)]


def test_expected_data_is_what_each_collective_does():
    pieces = [given.reshape(RANKS, COUNT) for given in inputs("alltoall")]
    nothing = []
    assert outputs("all_reduce") == [sum(inputs("all_reduce")).tolist()] * RANKS
    assert outputs("reduce") == [sum(inputs("reduce")).tolist(), nothing, nothing]
    assert outputs("broadcast") == [inputs("broadcast")[0].tolist()] * RANKS
    assert outputs("all_gather") == [np.concatenate(inputs("all_gather")).tolist()] * RANKS
    assert outputs("gather") == [np.concatenate(inputs("gather")).tolist(), nothing, nothing]
    assert outputs("reduce_scatter") == sum(pieces).tolist()
    assert outputs("scatter") == pieces[0].tolist()
    assert outputs("alltoall") == [np.concatenate([given[rank] for given in pieces]).tolist() for rank in range(RANKS)]


@pytest.mark.parametrize(
    ("name", "size", "ranks", "count"),
    [("all_reduce", 8, 2, 2), ("all_gather", 1024, 2, 128), ("alltoall", 100, 2, 12), ("scatter", 8, 2, 0)],
)
def test_counts_are_those_of_nccl_tests(name, size, ranks, count):
    assert COLLECTIVES[name].count(size, ranks) == count


def peer(*scripts, **kept):
    return Peer(
        "made up", "1", lambda job, folder: [[sys.executable, "-c", text] for text in scripts], read_line, **kept
    )


JOB = Job("all_reduce", 8, 2, 5, 1)
GOOD = 'print(\'{"ranks": 2, "out_of_place_us": 2.0, "in_place_us": null, "wrong": 0}\')'


def test_times_are_read():
    times = peer(GOOD).measure(JOB)
    assert (times.out_of_place_us, times.in_place_us) == (2.0, None)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (GOOD.replace('"wrong": 0', '"wrong": 1'), WrongDataError),
        (GOOD.replace("2,", "3,"), WrongDataError),
        ("print('no JSON')", MeasurementError),
        ("raise SystemExit(7)", MeasurementError),
        ("raise SystemExit('there is no collective all_reduce')", MissingError),
    ],
)
def test_bad_sample_is_an_error(script, error):
    with pytest.raises(error):
        peer(script).measure(JOB)


def test_program_that_does_not_end_is_left_out():
    with pytest.raises(MissingError, match="not finished within"):
        peer("import time; time.sleep(60)").measure(JOB, 0.5)


def test_failure_of_another_rank_ends_the_first():
    with pytest.raises(MeasurementError, match="exit status"):
        peer("import time; time.sleep(60)", "raise SystemExit(5)").measure(JOB)


def test_server_that_never_ends_is_ended():
    assert peer(GOOD, "import time; time.sleep(60)", grace_s=0).measure(JOB).out_of_place_us == 2.0


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_committed_results_are_read(path):
    results = read(path)
    assert results.groups
    assert all(group.median("in_place", "railgauge", group.sizes()[0]) for group in results.groups)
    assert "| railgauge" in table.render(results)


def written(tmp_path, times, cores=2):
    path = tmp_path / "result.jsonl"
    about = {"schema": "railgauge/bench/1", "benchmark": "host_collectives"}
    versions = dict.fromkeys(("railgauge", "openmpi", "floor"), "1")
    machine = {**about, "kind": "machine", "machine": {"cores": cores}, "versions": versions, "dtype": "float32"}
    lines = [{**machine, "repetitions": 1, "ranks": [2]}]
    for name, us in times.items():
        what = {"peer": name, "collective": "all_reduce", "hosts": 1, "ranks": 2, "bytes": 2**24, "repetition": 0}
        lines.append({**about, "kind": "sample", **what, "out_of_place": {"time_us": us}, "in_place": None})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read(path).groups[0]


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        ({"railgauge": 10, "openmpi": 18, "floor": 8}, "1.8 x: reached; 1.3 of the floor: reached (1.25)"),
        ({"railgauge": 10, "openmpi": 17, "floor": 5}, "1.8 x: not reached; 1.3 of the floor: not reached (2.00)"),
        ({"railgauge": 10}, "-"),
    ],
)
def test_target_is_reached_or_not(tmp_path, times, verdict):
    assert targets.verdict(written(tmp_path, times), "out_of_place", 2**24) == verdict


def test_nothing_is_wanted_where_ranks_share_cores(tmp_path):
    group = written(tmp_path, {"railgauge": 10, "openmpi": 18}, cores=1)
    assert targets.verdict(group, "out_of_place", 2**24) == "-"
