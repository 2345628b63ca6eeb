# SPDX-License-Identifier: Apache-2.0
"""railgauge graph: search and show, their documents and exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXPECTED = Path(__file__).parents[2] / "fixtures" / "h200x4" / "expected"
KEYS = {
    *("pattern", "cross_nic", "same_channels", "type_intra", "type_inter", "latency_inter"),
    *("gb_per_s_intra", "gb_per_s_inter", "search_ms", "channels"),
    *("bound_gb_per_s", "bound_why", "bound_weights"),
}


def railgauge(*args: str):
    command = [sys.executable, "-m", "railgauge", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=dict(os.environ), check=False)


def test_search_writes_nccls_graph(tmp_path):
    path = tmp_path / "graph.txt"
    done = railgauge("graph", "search", "--from", "@h200x4", "-o", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert path.read_text() == (EXPECTED / "graph.txt").read_text()


def test_search_as_json(tmp_path):
    path = tmp_path / "graph.json"
    done = railgauge("graph", "search", "--from", "@h200x4", "--json", "-o", str(path))
    document = json.loads(done.stdout)
    assert document["schema"] == "railgauge/graph/1"
    ring = document["graphs"]["ring"]
    assert set(ring) == KEYS
    assert ring["bound_gb_per_s"] is None
    assert (len(ring["channels"]), ring["gb_per_s_intra"], ring["type_intra"]) == (12, 30.0, "NVL")
    assert ring["channels"][0] == {"ranks": [0, 1, 2, 3], "nets": []}
    assert json.loads(path.read_text()) == document


def test_search_across_nodes_names_nics():
    document = json.loads(railgauge("graph", "search", "--from", "@h200x4", "--nodes", "2", "--json").stdout)
    assert document["graphs"]["ring"]["channels"][0]["nets"] == [0, 0]


def test_search_in_words():
    out = railgauge("graph", "search", "--from", "@h200x4").stdout
    assert out.splitlines() == [
        "ring: 12 channels x 30 GB/s = 360 GB/s, NVL",
        "  channels 0-11: 0 1 2 3",
        "tree: on the ring's channels (trees are not searched yet)",
    ]


def test_a_file_shows_its_own_tree():
    out = railgauge("graph", "show", str(EXPECTED / "graph.txt"), "--from", "@h200x4").stdout
    assert "tree: 12 channels x 30 GB/s = 360 GB/s, NVL" in out.splitlines()


def test_the_best_policy_is_the_default():
    command = ("search", "--from", "@h200x4")
    assert railgauge("graph", *command, "--policy", "best").stdout == railgauge("graph", *command).stdout


@pytest.mark.parametrize("ranks", ["1", "2", "3", "5", "8"])
def test_host_ranks_go_from_search_to_file_and_back(tmp_path, ranks):
    path = str(tmp_path / "graph.txt")
    host = ("--ranks", ranks, "--device", "cpu")
    assert railgauge("graph", "search", *host, "-o", path).returncode == 0
    shown = railgauge("graph", "show", path, *host, "--json")
    assert shown.returncode == 0
    assert sorted(json.loads(shown.stdout)["graphs"]["ring"]["channels"][0]["ranks"]) == list(range(int(ranks)))


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("search", "--from", "@h200x4", "--ranks", "3"), 2, "4 GPUs"),
        (("search", "--from", "@h200x4", "--nodes", "0"), 2, "--nodes"),
        (("search", "--from", "@h200x4", "--policy", "nccl"), 3, "searches its own rings only"),
        (("search", "--from", "@h200x4", "--policy", "worst"), 2, "--policy"),
        (("search", "--ranks", "0", "--device", "cpu"), 2, "--ranks"),
        (("show", "/nonexistent", "--from", "@h200x4"), 5, "/nonexistent"),
        (("show", str(EXPECTED / "topo.txt"), "--from", "@h200x4"), 5, "topo.txt:1:"),
        (("show", str(EXPECTED / "graph.txt"), "--ranks", "3", "--device", "cpu"), 5, "graph.txt:7:"),
    ],
)
def test_errors(args, status, says):
    done = railgauge("graph", *args)
    assert (done.returncode, done.stdout) == (status, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_no_gpu_is_exit_3(tmp_path):
    path = tmp_path / "topo.txt"
    path.write_text('<system version="1"><cpu numaid="0" arch="x86_64"/></system>')
    done = railgauge("graph", "search", "--from", str(path))
    assert (done.returncode, done.stdout) == (3, "")
    assert "--device cpu" in done.stderr
