# SPDX-License-Identifier: Apache-2.0
"""What the benchmark beside NCCL makes of its samples."""

import json

import pytest
from benchmarks.gpu_vs_nccl.options import sizes
from benchmarks.gpu_vs_nccl.results import Results
from benchmarks.gpu_vs_nccl.table import render, verdict
from benchmarks.gpu_vs_nccl.targets import wanted

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
HEADING = {
    "kind": "machine",
    "gpus": 2,
    "machine": {"gpus": "H200"},
    "repetitions": 3,
    "p2p_off": False,
    "two_hosts": False,
}


def sample(contender, size, us, launch="stream", collective="all_reduce"):
    return {
        "kind": "sample",
        "collective": collective,
        "launch": launch,
        "size": size,
        "contender": contender,
        "us": us,
    }


@pytest.fixture
def results(tmp_path):
    def read(*records, **heading):
        path = tmp_path / "result.jsonl"
        path.write_text("\n".join(json.dumps(one) for one in (HEADING | heading, *records)))
        return Results.read(path)

    return read


@pytest.mark.parametrize(
    ("collective", "size", "launch", "share"),
    [
        ("all_reduce", 8, "stream", 0.6),
        ("all_reduce", 64 * KIB, "graph", 0.6),
        ("all_reduce", 32 * KIB, "graph", 0.5),
        ("all_reduce", 128 * KIB, "stream", 0.8),
        ("all_reduce", 8 * MIB, "graph", 0.8),
        ("all_reduce", 32 * MIB, "stream", 0.95),
        ("all_reduce", 128 * MIB, "stream", 0.98),
        ("alltoall", 2 * MIB, "stream", 0.9),
        ("alltoall", 32 * MIB, "stream", 1.0),
    ],
)
def test_goals_are_those_of_their_sizes(collective, size, launch, share):
    assert wanted(collective, size, launch, over_host=False) == share
    assert wanted(collective, size, launch, over_host=True) == 0.9


def test_ours_is_held_against_the_best_of_nccl_by_medians(results):
    found = results(
        *(sample("railgauge", 8, us) for us in (4, 5, 90)),
        *(sample("nccl", 8, us) for us in (10, 10, 10)),
        *(sample("nccl-symmetric", 8, us) for us in (1, 8, 9)),
    )
    assert found.best_nccl_us("all_reduce", "stream", 8) == 8
    assert verdict(found, "all_reduce", "stream", 8) is False  # 5/8, and 0.6 is wanted
    assert "0.62" in render(found)


def test_large_sizes_have_to_come_near_copies_too(results):
    fast, copies = [sample("railgauge", GIB, 3000), sample("nccl", GIB, 4000)], {"kind": "copies"}
    assert verdict(results(*fast), "all_reduce", "stream", GIB) is None  # 358 GB/s of an unknown limit
    assert verdict(results(*fast, copies | {"gb_per_s_each_way": 390.0}), "all_reduce", "stream", GIB) is True
    assert verdict(results(*fast, copies | {"gb_per_s_each_way": 450.0}), "all_reduce", "stream", GIB) is False


def test_who_is_missing_is_named_and_nothing_is_told_without_nccl(results):
    missing = {"kind": "missing", "collective": "all_reduce", "contender": "nccl", "size": 8, "reason": "it hung"}
    found = results(sample("railgauge", 8, 4.0), missing)
    assert verdict(found, "all_reduce", "stream", 8) is None
    assert "not measured: nccl, all_reduce from 8 B on: it hung" in render(found)
    assert "0 of 0 goals reached" in render(found)


def test_sizes_end_with_the_largest():
    assert sizes("all_reduce", 8, GIB, 4)[-3:] == [128 * MIB, 512 * MIB, GIB]
    assert sizes("all_gather", 8, 32 * MIB, 4) == [8 * KIB, 128 * KIB, 2 * MIB, 32 * MIB]
