# SPDX-License-Identifier: Apache-2.0
"""railgauge topo: exit status, nothing on stdout, and a message on stderr that says where."""

import pytest
from tests.cli.command import in_process as railgauge


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("topo", "dump", "--from", "/nonexistent"), 5, "/nonexistent"),
        (("topo", "dump", "--from", "@nope"), 5, "@h200x4"),
        (("topo", "dump", "--bogus"), 2, "--bogus"),
        (("topo", "dump", "--gpus", "a", "--from", "@h200x4"), 2, "--gpus"),
        (("topo", "dump", "--gpus", "9", "--from", "@h200x4"), 2, "no GPU 9"),
        (("topo", "dump", "--gpus", "\u00b2", "--from", "@h200x4"), 2, "--gpus"),
        (("topo", "paths", "NUMA-1", "--from", "@h200x4"), 2, "starts no path"),
        (("topo", "paths", "GPU0", "GPU9", "--from", "@h200x4"), 2, "GPU9"),
        (("topo", "show", "--device", "cpu"), 2, "--ranks"),
        (("topo", "show", "--device", "cuda", "--from", "@laptop"), 3, "no GPU found; use"),
        (("topo", "paths", "--device", "cuda", "--from", "@laptop"), 3, "no GPU found; use"),
        (("graph", "search", "--device", "cuda", "--from", "@laptop"), 3, "no GPU found; use"),
        (("topo", "dump", "-o", "", "--from", "@h200x4"), 2, "empty"),
        (("topo", "show", "-o", "", "--from", "@h200x4"), 2, "-o"),
        (("graph", "search", "-o", "", "--from", "@h200x4"), 2, "empty"),
        (("topo", "dump", "-o", "/nonexistent/x", "--from", "@h200x4"), 3, "/nonexistent/x"),
        (("topo", "capture", "-o", "/nonexistent/x.tar.gz"), 3, "/nonexistent/x"),
    ],
)
def test_errors(args, status, says):
    done = railgauge(*args)
    assert (done.returncode, done.stdout) == (status, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_machine_where_no_path_starts(tmp_path):
    path = tmp_path / "cpu.xml"
    path.write_text('<system version="1"><cpu numaid="0" affinity="3" arch="x86_64"/></system>')
    done = railgauge("topo", "paths", "--from", str(path))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.endswith("railgauge topo: no GPU, rank or NIC here: no path starts\n")


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
