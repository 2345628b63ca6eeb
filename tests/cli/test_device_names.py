# SPDX-License-Identifier: Apache-2.0
"""Text has one name for each device; NCCL's ids stand in JSON, and in text with --ids nccl."""

import re

import pytest
from tests.cli.command import in_process

ID = re.compile(r"\b(GPU|NET|DEV|PCI|CPU|NVS|NIC|MEM)/[0-9a-f]+-[0-9a-f]+")
MACHINES = ("dgx-1v", "dgx-h100-nic-x8", "h200x4", "power9-ac922")
WITH_IDS = (
    ("topo", "show"),
    ("topo", "paths"),
    ("topo", "paths", "GPU0", "GPU1"),
    ("graph", "search", "--policy", "nccl"),
    ("graph", "show", "--policy", "nccl"),
    ("graph", "show", "--policy", "nccl", "--nodes", "2"),
)
OTHERS = (
    ("check",),
    ("gdr", "check"),
    ("env",),
    ("topo", "show", "--view", "matrix"),
    ("topo", "show", "--view", "rdma"),
    ("topo", "pick", "-n", "2"),
    ("graph", "predict", "-b", "1G", "--policy", "nccl", "--nodes", "2"),
)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("command", [*WITH_IDS, *OTHERS], ids=" ".join)
def test_text_has_names_only(command, machine):
    done = in_process(*command, "--from", f"@{machine}")
    assert done.stdout
    assert not ID.search(done.stdout)


@pytest.mark.parametrize("command", WITH_IDS, ids=" ".join)
def test_ids_of_nccl_stand_in_text_that_asks_for_them(command):
    done = in_process(*command, "--from", "@dgx-1v", "--ids", "nccl")
    assert "search" in command or ID.search(done.stdout)


@pytest.mark.parametrize("command", [("topo", "show"), ("topo", "paths"), ("graph", "search")], ids=" ".join)
def test_json_has_the_same_ids_either_way(command):
    args = (*command, "--from", "@h200x4", "--json")
    plain, asked = (in_process(*args, *ids).stdout for ids in ((), ("--ids", "nccl")))
    assert ID.search(plain)
    assert re.sub('"(time|search_ms)": [^,]*', "", plain) == re.sub('"(time|search_ms)": [^,]*', "", asked)


def test_a_linter_and_its_bound_name_the_gpu(tmp_path):
    path = str(tmp_path / "graph.txt")
    assert in_process("graph", "search", "--from", "@dgx-h100", "--policy", "nccl", "-o", path).returncode == 0
    named, asked = (in_process("graph", "lint", path, "--from", "@dgx-h100", "--ids", ids) for ids in ("names", "nccl"))
    assert "NVLinks of GPU0" in named.stdout
    assert not ID.search(named.stdout)
    assert "NVLinks of GPU/0-1b000" in asked.stdout


def test_notes_in_a_picture_name_devices(tmp_path):
    path = tmp_path / "node.svg"
    in_process("graph", "show", "--from", "@dgx-h100", "--policy", "nccl", "-o", str(path))
    assert "GPU0 -&gt; NVS" in path.read_text()


def test_a_card_without_a_bus_id_is_named_by_its_interface():
    assert "card of eth0" in in_process("topo", "show", "--from", "@h200x4").stdout
