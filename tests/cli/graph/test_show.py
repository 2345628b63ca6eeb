# SPDX-License-Identifier: Apache-2.0
"""graph show on the command line: text, JSON and pictures."""

import json
import re
import xml.etree.ElementTree as ET

import pytest
from tests.cli.command import in_process as railgauge
from tests.topo.findings.topology_file.topology_text import changed


def test_text_tells_channels_and_the_fullest_links():
    done = railgauge("graph", "show", "--from", "@dgx-h100", "--policy", "nccl")
    assert done.returncode == 0, done.stderr
    assert "ring: 12 channels x 30 GB/s = 360 GB/s, NVL" in done.stdout
    assert "   97%  360 of 370.8 GB/s  NVL GPU0 -> NVS, " in done.stdout


def test_a_file_is_shown_as_it_is(tmp_path):
    path = tmp_path / "graph.txt"
    assert railgauge("graph", "search", "--from", "@dgx-a100", "--nodes", "2", "-o", str(path)).returncode == 0
    shown = railgauge("graph", "show", str(path), "--from", "@dgx-a100")
    assert "NIC 0 in, 0 out" in shown.stdout
    record = json.loads(railgauge("graph", "show", str(path), "--from", "@dgx-a100", "--json").stdout)
    assert record["schema"] == "railgauge/graph/1"


@pytest.mark.parametrize("machine", ["@dgx-h100", "@dgx-1v", "@pcie-switch", "@power9-ac922"])
def test_a_picture_colours_wires_by_load_and_tells_the_channels(tmp_path, machine):
    path = tmp_path / "graph.svg"
    done = railgauge("graph", "show", "--from", machine, "-o", str(path))
    assert done.returncode == 0, done.stderr
    wires = {one: "".join(one.itertext()) for one in ET.parse(path).iter("{http://www.w3.org/2000/svg}path")}
    classes = [wire.get("class").split() for wire, note in wires.items() if note.endswith("%")]  # legend: no note
    assert any({"full", "most"} & set(names) for names in classes)
    assert not any({"idle", "over"} & set(names) for names in classes)
    text = "".join(ET.parse(path).getroot().itertext())
    assert "ring: " in text
    assert "overloaded" in text


def test_other_formats_and_the_tree(tmp_path):
    dot, page = tmp_path / "graph.dot", tmp_path / "graph.html"
    for path in (dot, page):
        options = ("--draw", "tree", "--from", "@h200x4", "-o", str(path))
        assert railgauge("graph", "show", *options).returncode == 0
    assert "tree: " in dot.read_text()
    assert "tree: " in page.read_text()


def test_a_file_that_nccl_cannot_load_is_refused(tmp_path):
    path = tmp_path / "graph.txt"
    search = ("graph", "search", "--policy", "nccl", "--from", "@h200x4", "-o", str(path))
    assert railgauge(*search).returncode == 0
    path.write_text(path.read_text().replace('pattern="4"', 'pattern="77"', 1))
    done = railgauge("graph", "show", str(path), "--from", "@h200x4")
    assert (done.returncode, done.stdout) == (5, "")
    assert f"{path}:2: pattern is 77" in done.stderr


def nics(*options):
    """The numbers of the NICs by which the ring's channels leave; none within one node."""
    done = railgauge("graph", "show", *options, "--json")
    assert done.returncode == 0, done.stderr
    ring = json.loads(done.stdout)["graphs"]["ring"]
    return {nic for channel in ring["channels"] for nic in channel["nets"]}


@pytest.fixture
def two_ports(tmp_path):
    """A machine with one NIC of two ports, 0 and 2, and another of one."""
    second = '<net name="mlx5_2" dev="2" speed="400000" port="2" guid="0x1" maxconn="131072" gdr="1"/>'
    path = tmp_path / "topo.xml"
    path.write_text(changed(('<net name="mlx5_0"', f'{second}<net name="mlx5_0"')))
    return str(path)


def test_channels_leave_by_nics_where_several_nodes_take_part(two_ports):
    assert nics("--from", two_ports) == nics("--from", two_ports, "--nodes", "1") == set()
    assert nics("--from", two_ports, "--nodes", "2")


def test_ports_of_one_card_are_one_nic_only_where_it_is_asked_for(two_ports):
    assert nics("--from", two_ports, "--nodes", "2") <= {0, 1, 2}
    assert 3 in nics("--from", two_ports, "--nodes", "2", "--merge-nics")


def test_an_unknown_suffix_is_a_usage_error(tmp_path):
    done = railgauge("graph", "show", "--from", "@h200x4", "-o", str(tmp_path / "graph.png"))
    assert done.returncode == 2
    assert ".svg" in done.stderr


def test_a_machine_without_gpus_has_nothing_to_show(tmp_path):
    path = tmp_path / "graph.txt"
    assert railgauge("graph", "search", "--from", "@h200x4", "-o", str(path)).returncode == 0
    for file in ((), (str(path),)):
        done = railgauge("graph", "show", *file, "--from", "@laptop")
        assert done.returncode == 3
        assert "--device cpu" in done.stderr


@pytest.mark.parametrize(("machine", "channels"), [("@dgx-1v", 6), ("@dgx-h100", 12)])
def test_each_channel_has_a_hue_of_its_own(tmp_path, machine, channels):
    path = tmp_path / "graph.svg"
    assert railgauge("graph", "show", "--from", machine, "--policy", "nccl", "-o", str(path)).returncode == 0
    text = path.read_text()
    hues = dict(re.findall(r"\.channel\.c(\d+) \{ stroke: (#[0-9a-f]{6})", text.partition("@media")[0]))
    assert sorted(map(int, hues)) == list(range(channels))
    assert len(set(hues.values())) == channels
    assert set(re.findall(r'class="channel c(\d+)"', text)) == set(hues)
    assert all(f"channel {number}</tspan>" in text for number in hues)


def test_a_channel_is_drawn_on_its_own_links(tmp_path):
    """In a DGX-1V's ring 0 3 2 1 5 6 7 4, which channels 0 and 1 are, GPU0 and GPU1 are no neighbours."""
    path = tmp_path / "graph.svg"
    assert railgauge("graph", "show", "--from", "@dgx-1v", "--policy", "nccl", "-o", str(path)).returncode == 0
    paths = list(ET.parse(path).iter("{http://www.w3.org/2000/svg}path"))
    used = {}
    for wire in paths:
        if wire.get("class").startswith("wire") and (note := "".join(wire.itertext())):
            same = [one.get("class") for one in paths if one.get("d") == wire.get("d")]
            used[note] = {int(one.split()[1][1:]) for one in same if one.startswith("channel")}
    beside = next(numbers for note, numbers in used.items() if "GPU0 -> GPU3" in note)
    apart = next(numbers for note, numbers in used.items() if "GPU0 -> GPU1" in note or "GPU1 -> GPU0" in note)
    assert {0, 1} <= beside
    assert not {0, 1} & apart


def test_in_dot_a_wire_has_a_line_for_each_of_its_channels(tmp_path):
    path = tmp_path / "graph.dot"
    assert railgauge("graph", "show", "--from", "@dgx-1v", "--policy", "nccl", "-o", str(path)).returncode == 0
    assert re.search(r'color="#[0-9a-f]{6}(:#[0-9a-f]{6})+"', path.read_text())
