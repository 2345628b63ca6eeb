# SPDX-License-Identifier: Apache-2.0
"""Tuning between GPUs: every launch is timed, and later runs take the quickest of the file."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.gpu.fake_gpus import ROOT
from tests.patience import HANGS_AFTER_S

from railgauge.collectives.gpu_tuning import launches, line, place_of
from railgauge.collectives.gpu_way import Via
from railgauge.collectives.tuning_file import Timed
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol

FEW_BLOCKS = {"NCCL_MAX_CTAS": "4"}
"""On a simulated GPU one runs after the other."""


def tuning_of_two(env: dict[str, str], file: Path, *flags: str) -> dict:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.gpu.tuning_of_two", *flags],
        cwd=ROOT,
        env=os.environ | env | FEW_BLOCKS | {"RAILGAUGE_TUNING_FILE": str(file)},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize(("via", "memories"), [(Via.MNNVL, 1), (Via.NET, 4)])
def test_gpus_of_two_hosts_that_map_each_others_memory_are_another_place(via, memories):
    peers = [SimpleNamespace(gpu="GB200", host_id=host) for host in "aabb"]
    place = place_of(SimpleNamespace(size=4, peers=peers, vias=[Via.NONE, Via.DIRECT, via, via]))
    assert (place.nodes, place.memories) == (2, memories)


def test_every_launch_is_measured_and_the_quickest_of_the_file_runs(fake_gpus, tmp_path):
    gpus, path = fake_gpus(2), tmp_path / "tuning.json"
    before = tuning_of_two(gpus, path, "--anew")
    (entry,) = before["tuning"]["entries"]
    assert (entry["ranks"], entry["nodes"], entry["memories"]) == (2, 1, 1)
    assert entry["machine"]
    assert {(one["algorithm"], one["protocol"]) for one in entry["measured"] if one["bytes"] == 32} == {
        (str(one.algorithm), str(one.protocol)) for one in launches(Collective.ALL_GATHER)
    }
    assert before["ran"][0] == ["one-shot", "ll"]
    quickest = {32: ["ring", "simple"], 4096: ["two-shot", "ll128"], 1 << 16: ["ring", "simple"]}
    for one in entry["measured"]:
        one["time_us"] = 1.0 if [one["algorithm"], one["protocol"]] == quickest[one["bytes"]] else 50.0
    path.write_text(json.dumps(before["tuning"]))
    assert tuning_of_two(gpus, path)["ran"] == list(quickest.values())


def test_times_of_gpus_that_do_not_map_each_others_memory_are_others(fake_gpus, tmp_path):
    through_host = tuning_of_two(fake_gpus(2) | {"NCCL_P2P_DISABLE": "1"}, Path(os.devnull))
    (entry,) = through_host["tuning"]["entries"]
    assert entry["memories"] == 2
    assert "ll128" not in {one["protocol"] for one in entry["measured"]}


@pytest.mark.parametrize("collective", list(Collective))
def test_a_launch_is_one_that_runs_the_collective(collective):
    algorithms = {one.algorithm for one in launches(collective)}
    assert ("ring" in algorithms) is not collective.in_pairs
    assert ("tree" in algorithms) is (collective is Collective.ALL_REDUCE)


def test_a_line_has_the_five_quickest_launches_of_a_size():
    def timed(time_us, algorithm, protocol, blocks=0, chunk_bytes=0):
        what = {"collective": Collective.ALL_REDUCE, "bytes": 4096, "time_us": time_us}
        return Timed(algorithm=algorithm, protocol=protocol, blocks=blocks, chunk_bytes=chunk_bytes, **what)

    ring, lines = (Algorithm.RING, Protocol.SIMPLE), (Algorithm.ONE_SHOT, Protocol.LL)
    slots = (Algorithm.TWO_SHOT, Protocol.SIMPLE)
    found = [
        timed(9.0, *ring),
        timed(2.5, *slots, 64, 32768),
        timed(3.0, *lines, 32),
        timed(7.0, *lines),
        timed(4.25, *slots),
        timed(5.0, *ring, 64),
    ]
    assert line(found) == (
        "# all_reduce 4096: two-shot simple x 64 x 32768 2.50 us, one-shot ll x 32 3.00 us, two-shot simple 4.25 us, "
        "ring simple x 64 5.00 us, one-shot ll 7.00 us"
    )
