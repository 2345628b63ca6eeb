# SPDX-License-Identifier: Apache-2.0
"""railgauge graph predict: its text, its document, what-if, and its errors."""

import json
from pathlib import Path

import pytest
from tests.cli.command import in_process as railgauge

GRAPH = Path(__file__).parents[2] / "fixtures" / "h200x4" / "expected" / "graph.txt"


def predict(*args):
    return railgauge("graph", "predict", *args)


def document(*args):
    done = predict(*args, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_row_for_each_size():
    found = document("--from", "@dgx-a100", "-b", "1K", "-e", "1M", "-f", "32")
    assert [row["bytes"] for row in found["rows"]] == [1024, 32768, 1048576]
    assert (found["collective"], found["ranks"], found["fabric"], found["change"]) == ("all_reduce", 8, None, None)
    assert all(row["before"] is None for row in found["rows"])


def test_the_table_is_that_of_nccl_tests():
    lines = predict("--from", "@dgx-a100", "-b", "1G").stdout.splitlines()
    assert lines[0] == "# all_reduce: 8 GPUs, 1 node"
    row = next(line.split() for line in lines if not line.startswith("#"))
    assert (row[0], row[4:6], row[-1]) == ("1073741824", ["ring", "simple"], "GPU0")
    assert any(line.startswith("# GPU0: GPU0 -> NVSwitch: 240 GB/s") for line in lines)


def test_a_change_is_stated_in_one_line_and_beside_each_size():
    args = ("--from", "@dgx-h100", "--nodes", "2", "-b", "1G", "--policy", "nccl", "--set", "NCCL_ALGO=Ring")
    edits = [f"NIC{dev}.width=8" for dev in (0, 3, 4, 5, 6, 9, 10, 11)]
    done = predict(*args, *(word for edit in edits for word in ("--set", edit)))
    assert done.stdout.startswith("2-node all_reduce 1 GiB: 362 -> 184 GB/s busbw (-49 %); bottleneck mlx5_0;")
    found = document(*args, *(word for edit in edits for word in ("--set", edit)))
    (row,) = found["rows"]
    assert found["change"]["edits"] == edits
    assert row["before"]["time_us"] < row["time_us"]
    assert (row["limit"]["device"], row["limit"]["link"]["gb_per_s"]) == ("NIC0", 24)


def test_edits_add_up():
    found = document("--from", "@dgx-h100", "-b", "1G", "--drop", "GPU7", "--drop", "nvlink:GPU0", "--p2p", "off")
    assert found["ranks"] == 7
    assert found["change"]["edits"] == ["drop GPU7", "drop nvlink:GPU0", "p2p off"]
    assert found["ring"]["type_intra"] != "NVL"


def test_without_p2p_the_same_machine_is_slower():
    done = predict("--from", "@dgx-h100", "-b", "1G", "--p2p", "off")
    assert done.stdout.startswith("1-node all_reduce 1 GiB: 463 -> 40.4 GB/s busbw (-91 %)"), done.stderr


def test_what_cannot_be_known_of_a_vm_is_said():
    lines = predict("--from", "@vm-flat", "--nodes", "2", "-b", "1G").stdout.splitlines()
    (remark,) = document("--from", "@vm-flat", "--nodes", "2", "-b", "1G")["remarks"]
    assert f"# {remark}" in lines
    assert "upper bound" in remark


def test_what_copy_engines_move_has_no_forecast():
    done = predict("alltoall", "--from", "@dgx-h100", "-R", "2", "--set", "NCCL_CTA_POLICY=ZERO")
    assert (done.returncode, "by copy engines here" in done.stderr) == (3, True)


def test_a_nic_without_channels_is_named():
    done = predict("--from", "@dgx-h100", "--nodes", "2", "-b", "1G", "--policy", "nccl", "--drop", "NIC3")
    assert done.stdout.splitlines()[0].endswith("mlx5_3 unused now")


def test_settings_of_nccl_count_for_both_sides():
    found = document("--from", "@dgx-h100", "--set", "NCCL_ALGO=Tree", "--set", "NIC0.rate=100", "-b", "1M", "-e", "1M")
    assert {row["algorithm"] for row in found["rows"]} == {"tree"}
    assert found["rows"][0]["before"]["algorithm"] == "tree"


def test_channels_are_searched_under_the_settings():
    nodes = ("--from", "@dgx-h100", "--nodes", "2", "--policy", "nccl", "-b", "1G", "-e", "1G")
    crossing, within = (document(*nodes, "--set", f"NCCL_CROSS_NIC={setting}")["ring"] for setting in (1, 0))
    assert (crossing["type_inter"], within["type_inter"]) == ("PIX", "PXN")


def test_channels_of_a_file_are_taken():
    found = document("--from", "@h200x4", "--graph", str(GRAPH), "-b", "1M", "-e", "1M")
    assert found["ring"]["channels"] == GRAPH.read_text().split('<graph id="1"')[0].count("<channel>")


def test_a_file_with_nics_is_for_several_nodes(tmp_path):
    file = str(tmp_path / "graph.txt")
    assert railgauge("graph", "search", "--from", "@dgx-a100", "--nodes", "2", "-o", file).returncode == 0
    assert document("--from", "@dgx-a100", "--graph", file, "-b", "1M", "-e", "1M")["nodes"] == 2


NARROW = ("--from", "@dgx-h100-nic-x8", "--nodes", "2", "-b", "1G", "--policy", "nccl")
LOSS = "2-node all_reduce 1 GiB: 434 -> 332 GB/s busbw (-23 %); bottleneck mlx5_0"


def test_a_machine_runs_at_what_its_links_run_at():
    lines = predict(*NARROW).stdout.splitlines()
    assert "# mlx5_0 runs at 24 GB/s (32.0 GT/s x8), NCCL plans with 48 (32.0 GT/s x16)" in lines
    row = next(line.split() for line in lines if not line.startswith("#"))
    assert row[3:5] == ["332.23", "433.61"]
    found = document(*NARROW)
    (figures,) = found["rows"]
    assert (round(figures["busbw_gb_per_s"], 2), round(figures["planned_busbw_gb_per_s"], 2)) == (332.23, 433.61)
    assert {(link["device"], link["real_gb_per_s"]) for link in found["slow_links"]} == {("mlx5_0", 24)}


def test_what_is_fixed_runs_as_planned():
    assert predict(*NARROW, "--fixed").stdout.startswith("2-node all_reduce 1 GiB: 332 -> 434 GB/s busbw (+31 %)")
    again = predict(*NARROW, "--fixed", "--set", "mlx5_0.width=8").stdout.splitlines()[0]
    narrow = predict("--from", "@dgx-h100", *NARROW[2:], "--set", "mlx5_0.width=8").stdout
    assert "(and 1 equal link)\n" in narrow
    whole = narrow.splitlines()[0]
    effect = railgauge("check", "--from", "@dgx-h100-nic-x8", "--only", "pcie-link-degraded").stdout
    assert again == whole == LOSS
    assert f"effect: {LOSS}" in effect


def test_a_port_that_is_up_again_carries_as_many_channels():
    args = ("--from", "@dgx-h100-port-down", *NARROW[2:], "--fixed", "--set", "NCCL_NVLS_ENABLE=0")
    assert "channels 7 x 48 -> 8 x 48 GB/s" in predict(*args).stdout.splitlines()[0]


def test_thousands_of_nodes_on_a_fabric():
    found = document(
        "alltoall", "--from", "@dgx-h100", "--nodes", "2048", "-b", "64G", "-e", "64G",
        "--fabric", "rail", "--oversubscription", "2", "--hop-latency", "0.3", "--radix", "64",
    )  # fmt: skip
    assert (found["ranks"], found["fabric"]["levels"], found["fabric"]["nodes_per_leaf"]) == (16384, 3, 42)
    assert found["rows"][0]["limit"]["device"] == "spines"


def test_host_ranks_say_where_their_speeds_are_from():
    done = predict("--ranks", "2", "--device", "cpu", "-b", "1M", "-e", "1M")
    assert done.stdout.splitlines()[-1].startswith("# CPU costs are those of one measured machine;")


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("all_to_none",), 2, "all_to_none"),
        (("-b", "1M", "-e", "1K"), 2, "nothing to scan"),
        (("-b", "8", "-e", "1G", "-f", "1", "-i", "8"), 2, "sizes"),
        (("-f", "nan"), 2, "-f nan"),
        (("-d", "all"), 2, "one type and one operator"),
        (("-o", "all"), 2, "one type and one operator"),
        (("--set", "NIC2.lanes=8"), 2, "width"),
        (("--set", "NIC77.width=8"), 2, "NIC77"),
        (("--set", "NCCL_ALGO=Rings"), 2, "'rings'"),
        (("--drop", "GPU9"), 2, "GPU9"),
        (("--p2p", "maybe"), 2, "--p2p"),
        (("--fabric", "torus"), 2, "--fabric"),
        (("--oversubscription", "0"), 2, "--oversubscription"),
        (("--nodes", "2", "--graph", str(GRAPH)), 2, "channels without NICs"),
        (("--drop", "GPU0", "--graph", str(GRAPH)), 2, "--graph"),
        (("--policy", "nccl", "--graph", str(GRAPH)), 2, "leave one of them out"),
        (("--ranks", "4", "--device", "cpu", "--drop", "GPU0"), 2, "no effect on ranks in host memory"),
        (("--ranks", "4", "--device", "cpu", "--p2p", "off"), 2, "--p2p off"),
        (("--graph", "/nonexistent"), 5, "/nonexistent"),
        (("--drop", "GPU0", "--drop", "GPU1", "--drop", "GPU2"), 3, "one rank alone"),
    ],
)
def test_errors(args, status, says):
    done = predict("--from", "@h200x4", *args)
    assert (done.returncode, done.stdout) == (status, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
