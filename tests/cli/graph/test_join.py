# SPDX-License-Identifier: Apache-2.0
"""graph join on the command line."""

import json

import pytest
from tests.cli.command import in_process as railgauge


def test_equal_nodes_are_told_once():
    done = railgauge("graph", "join", "4*@dgx-a100")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("4 nodes, 32 ranks: ")
    assert "nodes 0-3: @dgx-a100, 8 ranks each" in done.stdout
    assert "first tree: node 0 over 2; node 2 over 1 and 3" in done.stdout


def test_unequal_nodes_join_by_the_rails_that_they_have_in_common():
    done = railgauge("graph", "join", "2*@dgx-h100", "@dgx-a100", "--json")
    plan = json.loads(done.stdout)
    assert [(node["first_rank"], node["ranks"]) for node in plan["nodes"]] == [(0, 8), (8, 8), (16, 8)]
    for ring in plan["rings"]:
        assert sorted(ring["ranks"]) == list(range(24))
        assert len(ring["network"]) == 3


def test_settings_decide_how_many_channels_run():
    few = railgauge("graph", "join", "2*@dgx-a100", "--set", "NCCL_MAX_NCHANNELS=5", "--json")
    assert len(json.loads(few.stdout)["executed"]) == 5


def test_the_document_goes_to_a_file(tmp_path):
    path = tmp_path / "plan.json"
    assert railgauge("graph", "join", "@dgx-a100", "-o", str(path)).stdout == ""
    assert json.loads(path.read_text())["schema"] == "railgauge/plan/1"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("5000*@dgx-a100",), 2, "give 1 to 1024"),
        (("1000000*@dgx-a100",), 2, "give 1 to 1024"),
        (("0*@dgx-a100",), 2, "0 nodes"),
        (("@no-such",), 5, "unknown fixture"),
        (("2*@laptop",), 3, ""),
        ((), 2, "NODE"),
    ],
)
def test_what_cannot_be_joined_says_why(arguments, status, words):
    done = railgauge("graph", "join", *arguments)
    assert done.returncode == status
    assert words in done.stderr
    assert "Traceback" not in done.stderr
