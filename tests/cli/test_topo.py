# SPDX-License-Identifier: Apache-2.0
"""railgauge topo: exit status, clean stdout, messages on stderr."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXPECTED = Path(__file__).parents[2] / "fixtures" / "h200x4" / "expected"


def railgauge(*args: str, **environment: str):
    return subprocess.run(
        [sys.executable, "-m", "railgauge", *args],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )


def test_dump_is_the_xml_and_nothing_else():
    done = railgauge("topo", "dump", "--from", "@h200x4")
    assert (done.returncode, done.stdout) == (0, (EXPECTED / "topo.txt").read_text())
    assert "eth0" in done.stderr


def test_dump_to_a_file(tmp_path):
    path = tmp_path / "topo.txt"
    done = railgauge("topo", "dump", "--from", "@h200x4", "-o", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert path.read_text() == (EXPECTED / "topo.txt").read_text()
    assert railgauge("topo", "dump", "--from", str(path)).stdout == path.read_text()


def test_dump_of_this_machine():
    done = railgauge("topo", "dump")
    assert done.returncode == 0
    assert done.stdout.startswith('<system version="1">\n  <cpu ')


def test_capture_replays(tmp_path):
    path = str(tmp_path / "c.tar.gz")
    done = railgauge("topo", "capture", "-o", path)
    assert (done.returncode, done.stdout) == (0, "")
    assert railgauge("topo", "dump", "--from", path).stdout == railgauge("topo", "dump").stdout


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("topo", "dump", "--from", "/nonexistent"), 5, "/nonexistent"),
        (("topo", "dump", "--from", "@nope"), 5, "@h200x4"),
        (("topo", "dump", "--bogus"), 2, "--bogus"),
        (("topo", "dump", "--gpus", "a", "--from", "@h200x4"), 2, "--gpus"),
        (("topo", "dump", "--gpus", "9", "--from", "@h200x4"), 2, "no GPU 9"),
        (("topo", "dump", "--gpus", "\u00b2", "--from", "@h200x4"), 2, "--gpus"),
        (("topo", "paths", "GPU0", "--from", "@h200x4"), 2, "both"),
        (("topo", "paths", "GPU0", "GPU9", "--from", "@h200x4"), 2, "GPU9"),
        (("topo", "show", "--device", "cpu"), 2, "--ranks"),
        (("topo", "dump", "-o", "/nonexistent/x", "--from", "@h200x4"), 3, "/nonexistent/x"),
        (("topo", "capture", "-o", "/nonexistent/x"), 3, "/nonexistent/x"),
    ],
)
def test_errors(args, status, says):
    done = railgauge(*args)
    assert (done.returncode, done.stdout) == (status, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('<system version="1">\n<cpu numaid="0">\n', 3),
        ('<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY b "c">]>\n<system version="1"/>', 2),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd">\n<system version="1"/>', 1),
    ],
    ids=["cut", "bomb", "file"],
)
def test_hostile_xml_is_exit_5_with_its_line(tmp_path, text, line):
    path = tmp_path / "bad.xml"
    path.write_text(text)
    for command in (("topo", "dump"), ("topo", "show"), ("graph", "search")):
        done = railgauge(*command, "--from", str(path))
        assert (done.returncode, done.stdout) == (5, "")
        assert f"bad.xml:{line}:" in done.stderr


def test_paths_as_json():
    document = json.loads(railgauge("topo", "paths", "--from", "@h200x4", "--json").stdout)
    assert document["schema"] == "railgauge/paths/1"
    pair = next(p for p in document["paths"] if (p["from"], p["to"]) == ("GPU/0-60", "GPU/0-70"))
    assert (pair["type"], pair["hops"], round(pair["gb_per_s"], 1)) == ("NVL", 4, 370.8)
    assert pair["via"][-1] == "GPU/0-70"


@pytest.mark.parametrize("name", ["eth0", "NIC0", "NET/0-0"])
def test_one_path_in_words(name):
    out = railgauge("topo", "paths", "0000:00:06.0", name, "--from", "@h200x4").stdout
    assert out.splitlines()[0] == "GPU/0-60 -> NET/0-0: PHB, 4 hops, 1.25 GB/s"
    assert [line for line in out.splitlines() if "<- limits" in line] == [out.splitlines()[-1]]


def test_matrix_reads_like_nvidia_smi():
    out = railgauge("topo", "show", "--view", "matrix", "--from", "@h200x4").stdout
    lines = out.splitlines()
    assert lines[0].split()[:6] == ["GPU0", "GPU1", "GPU2", "GPU3", "NIC0", "CPU"]
    assert lines[1].split()[:6] == ["GPU0", "X", "NV18", "NV18", "NV18", "PHB"]
    assert "Legend:" in lines
    assert "  NIC0: eth0" in lines


def test_tree_names_all_parts():
    out = railgauge("topo", "show", "--from", "@h200x4").stdout
    assert all(name in out for name in ("CPU/0-ffffffffffffff", "GPU3", "NVS/0-0", "eth0"))


def test_host_ranks_are_shown():
    out = railgauge("topo", "show", "--ranks", "2", "--device", "cpu").stdout
    assert "rank 1" in out


@pytest.mark.parametrize("view", ["tree", "matrix"])
def test_no_colour_off_a_terminal(view):
    assert "\x1b" not in railgauge("topo", "show", "--view", view, "--from", "@h200x4").stdout
    assert "\x1b" not in railgauge("topo", "show", "--view", view, "--from", "@h200x4", NO_COLOR="1").stdout


def test_wide_tables_are_not_wrapped():
    out = railgauge("topo", "show", "--view", "matrix", "--ranks", "40", "--device", "cpu", COLUMNS="40").stdout
    assert len(out.splitlines()[0]) > 200
