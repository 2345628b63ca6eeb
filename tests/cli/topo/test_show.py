# SPDX-License-Identifier: Apache-2.0
"""railgauge topo show: tree, matrix, pictures by suffix, JSON, and flags that contradict each other."""

import json
import re
from xml.etree import ElementTree

import pytest
from tests.cli.command import in_process as railgauge

AGREEING = """\
\x1b[4m\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tNV18\tNV18\t0-63\t0\t\tN/A
GPU3\tNV18\tNV18\tNV18\t X \t0-63\t0\t\tN/A
"""


def show(*args: str):
    return railgauge("topo", "show", "--from", "@h200x4", *args)


@pytest.mark.parametrize(
    ("suffix", "begins"),
    [("svg", "<svg "), ("dot", "graph "), ("html", "<!doctype html>"), ("json", "{"), ("SVG", "<svg ")],
)
def test_pictures_are_written_by_suffix(tmp_path, suffix, begins):
    path = tmp_path / f"node.{suffix}"
    done = show("-o", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert f"wrote {path}" in done.stderr
    assert path.read_text().startswith(begins)
    assert "H200" in path.read_text()


def test_the_tree_is_never_cut():
    narrow = railgauge("topo", "show", "--from", "@dgx-h100-nic-x8", COLUMNS="40").stdout
    assert "<- runs x8 Gen5, both ends support x16 Gen5\n" in narrow


def test_an_unknown_suffix_names_the_four(tmp_path):
    done = show("-o", str(tmp_path / "node.png"))
    assert (done.returncode, done.stdout) == (2, "")
    assert all(suffix in done.stderr for suffix in (".svg", ".dot", ".json", ".html"))
    assert list(tmp_path.iterdir()) == []


def test_the_picture_of_a_file_is_named_after_it(tmp_path):
    topology, drawing = tmp_path / "rack7.xml", tmp_path / "node.svg"
    assert railgauge("topo", "dump", "--from", "@h200x4", "-o", str(topology)).returncode == 0
    assert railgauge("topo", "show", "--from", str(topology), "-o", str(drawing)).returncode == 0
    assert ElementTree.parse(drawing).getroot().findtext("{*}title") == "rack7.xml"


def test_json_on_stdout_is_the_one_in_the_file(tmp_path):
    path = tmp_path / "node.json"
    assert show("-o", str(path)).returncode == 0
    printed, written = json.loads(show("--json").stdout), json.loads(path.read_text())
    assert printed["schema"] == "railgauge/topology/1"
    assert {**printed, "time": ""} == {**written, "time": ""}
    assert any("eth0" in warning for warning in printed["warnings"])


def test_this_machine_can_be_drawn(tmp_path):
    path = tmp_path / "node.svg"
    assert railgauge("topo", "show", "-o", str(path)).returncode == 0
    ElementTree.parse(path)


def test_host_ranks_can_be_drawn(tmp_path):
    path = tmp_path / "node.svg"
    assert railgauge("topo", "show", "--ranks", "40", "--device", "cpu", "-o", str(path)).returncode == 0
    assert "RANK39" in path.read_text()


def test_a_matrix_that_agrees_is_exit_0(tmp_path):
    path = tmp_path / "smi.txt"
    path.write_text(AGREEING)
    done = show("--view", "matrix", "--against", str(path))
    assert (done.returncode, done.stdout) == (0, "no difference in 8 cells\n")


def test_a_matrix_that_differs_is_exit_1_with_the_reason(tmp_path):
    path = tmp_path / "smi.txt"
    path.write_text(re.sub("NV18", "SYS", AGREEING, count=1))
    done = show("--view", "matrix", "--against", str(path))
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "GPU0-GPU1: SYS in nvidia-smi, NV18 here"
    assert "nvidia-smi sees no NVLink" in done.stdout


@pytest.mark.parametrize("text", ["", "no matrix at all\n"])
def test_what_is_no_matrix_is_exit_5(tmp_path, text):
    path = tmp_path / "smi.txt"
    path.write_text(text)
    done = show("--view", "matrix", "--against", str(path))
    assert (done.returncode, done.stdout) == (5, "")
    assert "nvidia-smi topo -m" in done.stderr


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--against", "x"), "--view matrix"),
        (("-o", "x.svg", "--view", "matrix"), "leave --view"),
        (("-o", "x.svg", "--json"), "leave --view"),
        (("--view", "matrix", "--json"), "topo paths"),
        (("--view", "nope"), "--view"),
    ],
)
def test_flags_that_contradict_each_other_are_exit_2(flags, says):
    done = show(*flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_matrix_reads_like_nvidia_smi():
    out = railgauge("topo", "show", "--view", "matrix", "--from", "@h200x4").stdout
    lines = out.splitlines()
    assert lines[0].split()[:6] == ["GPU0", "GPU1", "GPU2", "GPU3", "NIC0", "CPU"]
    assert lines[1].split()[:6] == ["GPU0", "X", "NV18", "NV18", "NV18", "PHB"]
    assert "Legend:" in lines
    assert lines[-3:] == ["NIC Legend:", "", "  NIC0: eth0"]


def test_tree_names_all_parts():
    out = railgauge("topo", "show", "--from", "@h200x4").stdout
    assert all(name in out for name in ("NUMA-1", "GPU3", "NVS", "eth0"))


def test_host_ranks_are_shown():
    out = railgauge("topo", "show", "--ranks", "2", "--device", "cpu").stdout
    assert "rank 1" in out


@pytest.mark.parametrize("view", ["tree", "matrix"])
def test_no_colour_off_a_terminal(view):
    assert "\x1b" not in railgauge("topo", "show", "--view", view, "--from", "@h200x4").stdout
    assert "\x1b" not in railgauge("topo", "show", "--view", view, "--from", "@h200x4", NO_COLOR="1").stdout


@pytest.mark.parametrize("view", ["tree", "matrix", "rdma"])
def test_no_style_at_all_on_a_terminal_with_no_color(view):
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    shown = ("topo", "show", "--view", view, "--from", "@dgx-h100")
    assert "\x1b" in railgauge(*shown, **terminal).stdout
    assert "\x1b" not in railgauge(*shown, **terminal, NO_COLOR="1").stdout


def test_the_guides_of_the_tree_are_dim_beside_what_they_lead_to():
    shown = railgauge("topo", "show", "--from", "@h200x4", FORCE_COLOR="1", TERM="xterm-256color").stdout
    guides = re.findall(r"(\x1b\[\d+m)?[│ ]*[├└]── ", shown)
    assert guides
    assert set(guides) == {"\x1b[2m"}


@pytest.mark.parametrize("command", [("topo", "show"), ("topo", "paths", "GPU0", "CPU0"), ("graph", "search")])
def test_a_topology_file_is_begun_with(tmp_path, command):
    path = tmp_path / "given.xml"
    path.write_text(railgauge("topo", "dump", "--from", "@h200x4").stdout)
    done = railgauge(*command, "--from", "@h200x4", "--topo-file", str(path))
    assert done.returncode == 0
    assert "given.xml: " in done.stderr


def test_wide_tables_are_not_wrapped():
    out = railgauge("topo", "show", "--view", "matrix", "--ranks", "40", "--device", "cpu", COLUMNS="40").stdout
    assert len(out.splitlines()[0]) > 200
