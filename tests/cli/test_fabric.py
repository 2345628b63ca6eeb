# SPDX-License-Identifier: Apache-2.0
"""`railgauge fabric` from end to end: a fabric is made, with captures of its nodes, and every command reads it."""

import json
from pathlib import Path

import pytest
from tests.cli.command import in_process

from railgauge.topo.fabric.made_files import ibnetdiscover_text
from railgauge.topo.fabric.make import FabricPlan, make_fabric
from railgauge.topo.facts import named_source
from railgauge.topo.facts.named_source import open_source
from railgauge.topo.xml import topology_file

SHAPE = ("--leaves", "4", "--spines", "2", "--rails", "2", "--nodes", "6", "--storage", "1")
FAULTS = ("--break", "hca:gpu005=", "--break", "cable:gpu002/mlx5_1")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Six nodes with the NICs of a GB200 tray: mlx5_0 and mlx5_1 are on the rails, another is for storage."""
    folder = tmp_path_factory.mktemp("fabric") / "lab"
    done = in_process("fabric", "make", *SHAPE, *FAULTS, "--machine", "@gb200-tray", "-o", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


def answer(*arguments, status=0):
    done = in_process("fabric", *arguments, "--json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def test_captures_join_by_guid_and_name_what_is_wrong(lab):
    found = answer("check", str(lab), "--captures", str(lab / "captures"), status=1)["findings"]
    bad = {(one["id"], one["host"]) for one in found if one["level"] in ("WARN", "FAIL")}
    assert bad == {("node-without-rail", "gpu002"), ("storage-in-hca-list", "gpu005")}
    shown = answer("show", str(lab), "--captures", str(lab / "captures"))
    assert all(one["captured"] for one in shown["endpoints"] if one["node"].startswith("gpu"))


def test_nodes_without_captures_are_unknown(lab, tmp_path):
    for number in range(3):
        name = f"gpu00{number}.tar.zst"
        (tmp_path / name).write_bytes((lab / "captures" / name).read_bytes())
    only = ("--only", "storage-in-hca-list", "--json")
    done = in_process("fabric", "check", str(lab), "--captures", str(tmp_path), *only)
    (found,) = json.loads(done.stdout)["findings"]
    assert (found["level"], found["message"]) == ("UNKNOWN", "no captures of 3 of 6 nodes: gpu[003-005]")


def test_descriptions_do_not_join(lab, tmp_path):
    """The same descriptions with other GUIDs: no capture is one of these nodes."""
    (tmp_path / "ib.txt").write_text((lab / "ibnetdiscover.txt").read_text().replace("b8cef603", "b8cef60f"))
    done = in_process("fabric", "check", str(tmp_path), "--captures", str(lab / "captures"), "--json")
    assert "6 of 6 captured nodes have no port in this fabric" in done.stderr
    levels = {one["id"]: one["level"] for one in json.loads(done.stdout)["findings"]}
    assert levels["storage-in-hca-list"] == "UNKNOWN"


def test_cluster_check_has_the_findings_of_the_fabric(lab):
    only = [
        word for name in ("node-without-rail", "storage-in-hca-list", "uplink-missing") for word in ("--only", name)
    ]
    found = in_process("cluster", "check", "--from", str(lab / "captures"), "--fabric", str(lab), *only, "--json")
    assert found.returncode == 1, found.stderr
    ids = {(one["id"], one["host"], one["level"]) for one in json.loads(found.stdout)["findings"]}
    assert {("node-without-rail", "gpu002", "FAIL"), ("storage-in-hca-list", "gpu005", "WARN")} < ids
    assert ("uplink-missing", "", "PASS") in ids


def test_rails_are_written_for_nccl(lab, tmp_path):
    found = answer("rails", str(lab))
    lists = {one["nccl_ib_hca"]: one["nodes"] for one in found["settings"]}
    assert lists["=mlx5_0:1:0,mlx5_1:1:1"] == ["gpu000", "gpu001", "gpu003", "gpu004", "gpu005"]
    assert lists["=mlx5_0:1:0"] == ["gpu002"]
    assert [one["role"] for one in found["rails"]] == ["compute", "compute", "storage"]
    path = tmp_path / "topo.xml"
    source = str(lab / "captures" / "gpu003.tar.zst")
    done = in_process("fabric", "rails", str(lab), "--write", str(path), "--from", source)
    assert done.returncode == 0, done.stderr
    nets = {net.get("name"): net.get("rail") for net in topology_file.load(str(path)).root.walk() if net.name == "net"}
    assert {name: rail for name, rail in nets.items() if rail} == {"mlx5_0": "0", "mlx5_1": "1"}


def test_rails_are_written_for_the_live_node(lab, tmp_path, monkeypatch):
    reader, _ = open_source(str(lab / "captures" / "gpu003.tar.zst"))
    monkeypatch.setattr(named_source, "live_reader", lambda _: reader)
    path = tmp_path / "topo.xml"
    done = in_process("fabric", "rails", str(lab), "--write", str(path), "--from", "live")
    assert done.returncode == 0, done.stderr
    assert path.read_text().count('rail="') == 2


@pytest.fixture(scope="module")
def unnamed(tmp_path_factory):
    """A fabric with a port without description, and with one whose description is for a shell."""
    text = ibnetdiscover_text(make_fabric(FabricPlan(leaves=2, spines=1, rails=2, nodes=40)))
    text = text.replace('"gpu002 mlx5_0"', '"MT4129 ConnectX7 Mellanox"')
    path = tmp_path_factory.mktemp("unnamed") / "ib.txt"
    path.write_text(text.replace("gpu001 mlx5_0", "$(reboot),gpu[0-9] mlx5_0;a"))
    return str(path)


@pytest.mark.parametrize(
    "form", [("--slurm", "topology.conf"), ("--slurm", "topology.yaml"), ("--kueue",), ("--json",)]
)
def test_what_is_no_host_name_is_not_exported(unnamed, form):
    done = in_process("fabric", "export", unnamed, *form)
    assert done.returncode == 0
    assert "2 nodes left out, without host name: $(reboot),gpu[0-9], node " in done.stderr
    assert any(text in done.stdout for text in ("gpu000", "gpu[000"))
    assert not any(text in done.stdout for text in ("reboot", "gpu[0-9]", "node b8ce"))


def test_what_is_no_host_name_is_not_for_a_launcher(unnamed):
    done = in_process("fabric", "order", unnamed, "-o", "hostfile")
    assert (done.returncode, done.stdout) == (5, "")
    assert "'$(reboot),gpu[0-9]' is no host name" in done.stderr
    assert in_process("fabric", "order", unnamed, "-w", "gpu000,gpu003", "-o", "hostfile").returncode == 0


@pytest.mark.parametrize(("captures", "level"), [((), "UNKNOWN"), (("--captures", "captures"), "FAIL")])
def test_a_capture_names_a_port_without_description(lab, tmp_path, captures, level):
    text = (lab / "ibnetdiscover.txt").read_text().replace('"gpu004 mlx5_1"', '"MT4129 ConnectX7 Mellanox"')
    (tmp_path / "ib.txt").write_text(text)
    names = [str(lab / name) if name == "captures" else name for name in captures]
    done = in_process("fabric", "check", str(tmp_path / "ib.txt"), *names, "--only", "node-without-rail", "--json")
    levels = {one["subject"]: one["level"] for one in json.loads(done.stdout)["findings"]}
    assert levels["gpu002"] == level


def test_settings_are_quoted_for_a_shell(unnamed):
    shown = in_process("fabric", "rails", unnamed).stdout
    assert "NCCL_IB_HCA='=mlx5_0;a:1:0'" in shown
    assert "NCCL_IB_HCA==:" not in shown


def test_a_port_without_description_may_be_the_one_that_a_node_lacks(unnamed):
    ones = [one for one in answer("check", unnamed, status=1)["findings"] if one["id"] == "node-without-rail"]
    levels = {one["subject"]: one["level"] for one in ones}
    assert levels == {"gpu001": "UNKNOWN", "gpu002": "UNKNOWN", "$(reboot),gpu[0-9]": "FAIL"}
    assert any("is its own (1, such as node b8ce" in one["message"] for one in ones)


def test_a_stranger_has_no_rail(lab, tmp_path):
    path = tmp_path / "topo.xml"
    done = in_process("fabric", "rails", str(lab), "--write", str(path), "--from", "@dgx-h100")
    assert done.returncode == 2
    assert not path.exists()


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("hostfile", ["gpu000 slots=2", "gpu001 slots=2"]),
        ("slurm", ["gpu000", "gpu000", "gpu001", "gpu001"]),
        ("rankfile", ["rank 0=gpu000 slot=0", "rank 1=gpu000 slot=1", "rank 2=gpu001 slot=0", "rank 3=gpu001 slot=1"]),
    ],
)
def test_an_order_is_printed_for_launchers(lab, form, lines):
    done = in_process("fabric", "order", str(lab), "-w", "gpu001,gpu000", "-o", form, "--slots", "2")
    assert done.stdout.splitlines() == lines


def test_a_hostfile_gives_the_order_that_is_loaded(lab, tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("gpu004 slots=8\ngpu000 slots=8\n")
    assert answer("load", str(lab), "--hostfile", str(hosts))["nodes"] == ["gpu004", "gpu000"]
    done = in_process("fabric", "load", str(lab), "-w", "gpu999")
    assert done.returncode == 2
    assert "gpu999 is not on a compute rail" in done.stderr


def test_a_graph_file_gives_the_channels(lab, tmp_path):
    graph = tmp_path / "graph.txt"
    assert in_process("graph", "search", "--nodes", "2", "--from", "@dgx-h100", "-o", str(graph)).returncode == 0
    done = in_process("fabric", "load", str(lab), "--graph", str(graph), "-w", "gpu000,gpu003")
    assert done.returncode == 2
    assert "the nodes have 2 on compute rails" in done.stderr


def test_exports_are_read_again_as_the_same_places(lab, tmp_path):
    blocks = None
    for form in ("topology.conf", "topology.yaml"):
        text = in_process("fabric", "export", str(lab), "--slurm", form).stdout
        (tmp_path / form).write_text(text)
        found = answer("export", str(tmp_path / form))["switches"]
        places = {frozenset(one["nodes"]) for one in found if one["nodes"]}
        assert places == {frozenset(["gpu000", "gpu001", "gpu002"]), frozenset(["gpu003", "gpu004", "gpu005"])}
        blocks = blocks or places
        assert places == blocks
    block = in_process("fabric", "export", str(lab), "--slurm", "block").stdout
    assert "BlockSizes=3,6" in block
    labels = in_process("fabric", "export", str(lab), "--nfd", "gpu004").stdout.splitlines()
    assert labels == ["fabric.topograph.run/tier-0=leaf-r0-1", "fabric.topograph.run/tier-1=spine-0"]
    assert "kind: Topology" in in_process("fabric", "export", str(lab), "--kueue").stdout


def test_a_prediction_takes_the_files(lab):
    def limits(*fabric):
        done = in_process(
            "graph", "predict", "alltoall", "--from", "@dgx-h100", "--nodes", "64", "-b", "1G", *fabric, "--json"
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["fabric"]

    assert limits("--fabric", str(lab))["kind"] == "rail"
    assert limits("--fabric", str(lab))["oversubscription"] == 1.0
    assert in_process("graph", "predict", "--fabric", str(lab), "--radix", "32", "--from", "@dgx-h100").returncode == 2
    assert (
        in_process("graph", "predict", "--fabric", "rail", "--fabric", str(lab), "--from", "@dgx-h100").returncode == 2
    )


def test_a_prediction_names_the_cable_that_limits(tmp_path):
    """Four nodes with eight rails, one leaf each; the cable of one NIC runs at half its speed."""
    lab = str(tmp_path / "lab")
    shape = ("--leaves", "8", "--spines", "0", "--rails", "8", "--nodes", "4", "--break", "slow:gpu001/mlx5_2")
    assert in_process("fabric", "make", *shape, "-o", lab).returncode == 0
    sizes = ("-b", "1G", "-e", "1G", "--from", "@dgx-h100", "--set", "NCCL_ALGO=Ring")

    def predicted(nodes, *fabric):
        done = in_process("graph", "predict", "--nodes", nodes, *sizes, *fabric, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    whole, found = predicted("4"), predicted("4", "--fabric", lab)
    cable = found["fabric"]["cables"]["ring"]
    assert {cable["from"], cable["to"]} == {"gpu001 mlx5_2", "leaf-r2-0[2]"}
    assert (cable["gb_per_s"], cable["share"], cable["allows_gb_per_s"]) == (25.0, 0.125, 200.0)
    assert found["rows"][0]["limit"]["device"] == "cable"
    speeds = [one["rows"][0]["busbw_gb_per_s"] for one in (found, whole)]
    assert speeds[0] / speeds[1] == pytest.approx(200 / (8 * 48), rel=0.05)
    assert (whole["fabric"]["cables"], predicted("5", "--fabric", lab)["fabric"]["cables"]["ring"]) == (None, None)
    text = in_process("graph", "predict", "--nodes", "5", *sizes, "--fabric", lab).stdout
    assert "# load of cables unknown: the files have fewer nodes" in text


def test_a_prediction_of_pairs_names_the_cable_that_limits(tmp_path):
    """The thin uplinks of two leaves a rail: what goes to four of the seven other nodes takes one of each rail."""
    lab = str(tmp_path / "lab")
    shape = ("--leaves", "16", "--spines", "1", "--rails", "8", "--nodes", "8", "--oversubscription", "4")
    assert in_process("fabric", "make", *shape, "-o", lab).returncode == 0

    def predicted(collective, *fabric):
        sizes = ("-b", "1G", "-e", "1G", "--from", "@dgx-h100", "--nodes", "8")
        done = in_process("graph", "predict", collective, *sizes, *fabric, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    whole, found = predicted("alltoall"), predicted("alltoall", "--fabric", lab)
    cable = found["fabric"]["cables"]["pairs"]
    assert {cable["from"][:5], cable["to"][:5]} == {"leaf-", "spine"}
    assert (cable["share"], cable["allows_gb_per_s"]) == (0.2857, 175.0)  # 4 nodes x 4/7 of an eighth over 50 GB/s
    assert found["rows"][0]["limit"]["device"] == "cable"
    speeds = [one["rows"][0]["busbw_gb_per_s"] for one in (found, whole)]
    assert speeds[0] / speeds[1] == pytest.approx(175 / (8 * 48), rel=0.02)
    in_order = predicted("sendrecv", "--fabric", lab)
    assert in_order["fabric"]["cables"]["pairs"]["allows_gb_per_s"] == 50.0
    assert in_order["rows"][0]["limit"]["device"] != "cable"
    assert predicted("gather", "--fabric", lab)["fabric"]["cables"]["pairs"] is None
    notes = {
        collective: in_process("graph", "predict", collective, "--from", "@dgx-h100", "--nodes", "8", "--fabric", lab)
        for collective in ("alltoall", "gather")
    }
    assert "# most loaded cable of messages: " in notes["alltoall"].stdout
    assert "cable" not in notes["gather"].stdout


def test_operations_in_pairs_are_loaded_beside_rings_and_trees(lab):
    found = answer("load", str(lab), "-w", "gpu000,gpu003", "--pairs", "alltoall", "--pairs", "sendrecv", "-b", "8M")
    assert [one["pattern"] for one in found["patterns"]] == ["ring", "tree", "alltoall", "sendrecv"]
    to_all, to_next = found["patterns"][2:]
    assert to_all["cables"][0]["bytes"] == 8 * (8 << 20) / 2 / 2  # half of what 8 ranks send, by two NICs
    assert (to_next["cables"][0]["bytes"], to_next["gb_per_s"]) == (8 << 20, 50.0)


def test_a_picture_marks_what_is_found(lab, tmp_path):
    text = (lab / "ibnetdiscover.txt").read_text().replace("4xNDR", "4xHDR", 1)
    (tmp_path / "ib.txt").write_text(text)
    for suffix, marks in {".svg": ('class="cable faulty"', "rail0"), ".dot": ("style=dashed", "rank=same")}.items():
        path = tmp_path / f"fabric{suffix}"
        assert in_process("fabric", "show", str(tmp_path / "ib.txt"), "-o", str(path)).returncode == 0
        drawn = path.read_text()
        assert all(mark in drawn for mark in marks)
    assert in_process("fabric", "show", str(lab), "-o", str(tmp_path / "a.pdf")).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--leaves", "5"), "multiple of --rails"),
        (("--break", "slow:nowhere[1]"), "no cable at 'nowhere[1]'"),
        (("--break", "sloow:leaf-r0-0[1]"), "did you mean"),
        (("--speed", "WARP"), "--speed WARP"),
        (("--rails", "9", "--leaves", "9", "--machine", "@dgx-h100"), "has 8 InfiniBand devices"),
    ],
)
def test_what_cannot_be_made(tmp_path, arguments, words):
    done = in_process("fabric", "make", *arguments, "-o", str(tmp_path / "lab"))
    assert done.returncode == 2
    assert words in done.stderr


def test_names_of_files_do_not_control_the_terminal(tmp_path):
    text = Path(__file__).parents[1].joinpath("topo/fabric/recorded/ibnetdiscover.txt").read_text()
    (tmp_path / "ib.txt").write_text(text.replace("leaf-r0-0", "leaf\x1b[31m"))
    done = in_process("fabric", "show", str(tmp_path / "ib.txt"))
    assert done.returncode == 0
    assert "\x1b" not in done.stdout


def test_joined_channels_load_the_cables_of_captured_nodes(lab):
    nodes = [str(lab / "captures" / f"gpu00{number}.tar.zst") for number in (0, 3)]
    done = in_process("graph", "join", *nodes, "--fabric", str(lab), "--json")
    assert done.returncode == 0, done.stderr
    ring, tree = json.loads(done.stdout)["fabric"]
    assert (ring["pattern"], tree["pattern"]) == ("ring", "tree")
    assert not ring["adaptive"]
    ends = {one["from"] for one in ring["cables"]}
    assert any(name.startswith(("gpu000 mlx5_", "gpu003 mlx5_", "leaf-r")) for name in ends)
    assert ring["used"] >= 2 * 4  # both directions of four cables at least: NIC, leaf, spine, leaf, NIC
    share = 2 * 7 / 8 / len(json.loads(done.stdout)["rings"])
    assert ring["cables"][0]["bytes"] % round(share * 1e9, 1) == pytest.approx(0, abs=1)


def test_nodes_that_are_not_on_the_fabric_cannot_load_it(lab):
    done = in_process("graph", "join", "2*@gb200-tray", "--fabric", str(lab))
    assert done.returncode == 5
    assert "no port in the files of --fabric (by GUID or MAC)" in done.stderr
