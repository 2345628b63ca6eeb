# SPDX-License-Identifier: Apache-2.0
"""railgauge graph: search and show, their documents and exit status."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.command import in_process as railgauge

EXPECTED = Path(__file__).parents[2] / "fixtures" / "h200x4" / "expected"
TOPOLOGY = str(EXPECTED / "topo.txt")
KEYS = {
    *("pattern", "cross_nic", "same_channels", "type_intra", "type_inter", "latency_inter"),
    *("gb_per_s_intra", "gb_per_s_inter", "search_ms", "channels"),
    *("bound_gb_per_s", "bound_why", "bound_weights", "difference", "running_share", "running_why"),
}


def searched(*args):
    done = railgauge("graph", "search", "--from", TOPOLOGY, *args, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["graphs"]


def total(graph):
    return len(graph["channels"]) * graph["gb_per_s_intra"]


def test_policy_nccl_writes_what_nccl_dumps(tmp_path):
    path = tmp_path / "graph.txt"
    done = railgauge("graph", "search", "--from", "@h200x4", "--policy", "nccl", "-o", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert path.read_text() == (EXPECTED / "graph.txt").read_text()


def test_search_as_json(tmp_path):
    path = tmp_path / "graph.json"
    done = railgauge("graph", "search", "--from", "@h200x4", "--policy", "nccl", "--json", "-o", str(path))
    document = json.loads(done.stdout)
    assert document["schema"] == "railgauge/graph/1"
    ring = document["graphs"]["ring"]
    assert set(ring) == KEYS
    assert (ring["bound_gb_per_s"], ring["difference"]) == (None, "")
    assert (len(ring["channels"]), ring["gb_per_s_intra"], ring["type_intra"]) == (12, 30.0, "NVL")
    assert ring["channels"][0] == {"ranks": [0, 1, 2, 3], "nets": []}
    assert json.loads(path.read_text()) == document


def test_the_best_channels_fill_the_ports_and_prove_it():
    """18 NVLinks leave each GPU, 370.8 GB/s by NCCL's model; NCCL's table of speeds has no 30.9."""
    best = searched()
    ring = best["ring"]
    assert total(ring) == pytest.approx(370.8, rel=1e-3)
    assert ring["bound_gb_per_s"] == pytest.approx(370.8, rel=1e-3)
    assert "NVLinks of GPU" in ring["bound_why"]
    assert sum(weight for *_, weight in ring["bound_weights"]) == pytest.approx(1.0)
    assert total(best["tree"]) >= total(searched("--policy", "nccl")["tree"])


def test_the_best_says_why_it_is_not_nccls():
    assert "NCCL uses 12 x 30 GB/s" in searched()["ring"]["difference"]


def test_search_across_nodes_names_nics():
    best, nccl = searched("--nodes", "2"), searched("--nodes", "2", "--policy", "nccl")
    for graphs in (best, nccl):
        assert all(channel["nets"] == [0, 0] for channel in graphs["ring"]["channels"])
    assert best["ring"]["gb_per_s_inter"] == pytest.approx(1.25)  # what its NIC carries
    assert best["ring"]["bound_why"] == "NIC NET/0-0"
    assert nccl["ring"]["gb_per_s_inter"] == pytest.approx(1.2)  # the nearest of NCCL's speeds


def test_settings_steer_the_search():
    """Without peer access data goes through the CPU."""
    done = railgauge("graph", "search", "--from", TOPOLOGY, "--set", "NCCL_P2P_DISABLE=1")
    assert ", PHB" in done.stdout.splitlines()[0]
    assert "NCCL_P2P_DISABLE=1" in done.stderr


def test_a_cross_nic_that_nccl_does_not_know_says_what_it_counts_as():
    done = railgauge("graph", "search", "--from", TOPOLOGY, "--nodes", "2", "--set", "NCCL_CROSS_NIC=9")
    assert "NCCL_CROSS_NIC=9 is not 0, 1 or 2: NCCL uses 0" in done.stderr


def test_search_in_words():
    lines = railgauge("graph", "search", "--from", "@h200x4", "--policy", "nccl").stdout.splitlines()
    assert lines == [
        "ring: 12 channels x 30 GB/s = 360 GB/s, NVL",
        "  channels 0-11: 0 1 2 3",
        "tree: 12 channels x 30 GB/s = 360 GB/s, NVL",
        "  channels 0-11: 0 1 2 3",
        "nvls: 4 heads x 60 GB/s, with NVLink multicast",
        "  all_reduce: at most 296.6 GB/s (445 busbw) by NVLinks: each GPU sends all data, and a head its part again",
    ]
    best = railgauge("graph", "search", "--from", "@h200x4").stdout
    assert "  optimal: at most 370.8 GB/s by NVLinks of GPU" in best
    assert "  NCCL uses 12 x 30 GB/s: " in best


def test_one_channel_is_one():
    assert (
        "ring: 1 channel x 1.2 GB/s"
        in railgauge("graph", "search", "--from", "@h200x4", "--nodes", "2", "--policy", "nccl").stdout
    )


def test_one_gpu_has_nothing_to_send():
    alone = railgauge("graph", "search", "--from", "@h200x4", "--gpus", "1")
    assert alone.stdout.splitlines()[-2:] == [
        f"{name}: one rank alone has nothing to send" for name in ("ring", "tree")
    ]


def test_ranks_that_are_not_the_gpus_numbers_are_told(tmp_path):
    path = tmp_path / "topo.xml"
    path.write_text(swapped((EXPECTED / "topo.txt").read_text()))
    told = "ranks: 0 is GPU1, 1 is GPU0, 2 is GPU2, 3 is GPU3"
    assert railgauge("graph", "search", "--from", str(path)).stdout.splitlines()[0] == told
    assert railgauge("graph", "show", "--from", str(path)).stdout.splitlines()[0] == told
    assert f"  {told}" in railgauge("graph", "join", str(path)).stdout.splitlines()
    assert "ranks:" not in railgauge("graph", "search", "--from", TOPOLOGY).stdout


def swapped(text):
    """The topology with ranks 0 and 1 exchanged."""
    for old, new in (('rank="0"', 'rank="x"'), ('rank="1"', 'rank="0"'), ('rank="x"', 'rank="1"')):
        assert old in text
        text = text.replace(old, new)
    return text


def test_a_node_that_nccl_cuts_says_which_gpus_are_left_out():
    for command in ("search", "show"):
        out = railgauge("graph", command, "--from", "@pcie-switch").stdout
        assert re.match(r"\d of \d GPUs: NCCL splits the node: GPU\d .*form another one", out), out.splitlines()[0]


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
        (("search", "--from", "@h200x4", "-o", "node.svg"), 2, "use railgauge graph show to draw"),
        (("search", "--from", "@h200x4", "-o", "-"), 2, "./- names a file"),
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
