# SPDX-License-Identifier: Apache-2.0
"""railgauge topo lint: exit status, text in the order of lines, and what --from means."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.command import in_process as railgauge
from tests.topo.findings.topology_file.topology_text import HEALTHY, changed

from railgauge.topo.files.compression import pack

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "topo-lint.md"
SELF = ("0000:81:00.0", "0000:11:00.0")
OVERLAP = ("ffff0000", "0000ffff")


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "topo.xml"
        path.write_text(text)
        return str(path)

    return write


def test_healthy_file(file):
    done = railgauge("topo", "lint", file(HEALTHY))
    header, *rest = done.stdout.splitlines()
    assert (done.returncode, rest, done.stderr) == (0, ["", "no findings"], "")
    assert re.fullmatch(r".*: topology file; \d+ x GPU, \d+ NICs?", header)


@pytest.mark.parametrize(
    ("changes", "fail_on", "status"),
    [
        ([SELF], "FAIL", 1),
        ([OVERLAP], "FAIL", 0),
        ([OVERLAP], "WARN", 1),
        ([OVERLAP], "warn", 1),
        ([OVERLAP], "UNKNOWN", 1),
        ([SELF], "UNKNOWN", 1),
        ([], "PASS", 0),
    ],
)
def test_exit_status_is_by_fail_on(file, changes, fail_on, status):
    assert railgauge("topo", "lint", file(changed(*changes)), "--fail-on", fail_on).returncode == status


def test_text_goes_by_level_and_line_and_tells_a_remedy_once(file):
    path = file(changed(OVERLAP, ('link_speed="32.0 GT/s PCIe"', 'link_speed="32"'), *[('gdr="1"', "")] * 2))
    lines = railgauge("topo", "lint", path).stdout.splitlines()
    places = [line for line in lines if line.startswith(f"{path}:") and "topology file" not in line]
    found = [re.match(rf"{re.escape(path)}:(\d+): (INFO|WARN|FAIL) [a-z-]+: ", line) for line in places]
    order = [(("FAIL", "WARN", "INFO").index(one[2]), int(one[1])) for one in found]
    assert order == sorted(order)
    assert lines[-1] == "1 WARN, 3 INFO"
    assert len([line for line in lines if line.startswith("    remedy: ")]) == 3


def test_alike_findings_are_one_unless_each_is_asked_for(file):
    both = {'target="0000:81': 'target="0000:11', 'target="0000:11': 'target="0000:81'}
    path = file(re.sub("|".join(both), lambda found: both[found[0]], HEALTHY))

    def shown(*more):
        return railgauge("topo", "lint", path, *more).stdout.count(" FAIL nvlink-self-target: ")

    assert (shown(), shown("-v")) == (1, 2)


def test_json_tells_everything_at_each_finding(file):
    path = file(changed(SELF))
    done = railgauge("topo", "lint", path, "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["schema"]) == (1, "railgauge/findings/1")
    worst = next(finding for finding in found["findings"] if finding["level"] == "FAIL")
    assert (worst["path"], worst["line"], worst["subject"]) == (path, 6, "0000:11:00.0")
    assert worst["evidence"] == {"target": "0000:11:00.0", "count": 4}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<system", "not well-formed"),
        ('<system version="2"/>', "expected 1"),
        ("<graphs/>", "expected <system>"),
        ("\x1f\x8b\x08", ""),
    ],
)
def test_what_is_no_topology_is_unreadable(file, text, words):
    done = railgauge("topo", "lint", file(text))
    assert (done.returncode, done.stdout) == (5, "")
    assert words in done.stderr


@pytest.mark.parametrize("what", ["fixture", "capture", "folder", "description"])
def test_a_machine_in_place_of_its_file_is_told_how_to_become_one(tmp_path, what):
    capture, description = tmp_path / "host.tar.zst", tmp_path / "machine.toml"
    capture.write_bytes(pack(b"x", ".tar.zst"))
    description.write_text("")
    path = {"fixture": "@dgx-h100", "capture": capture, "folder": tmp_path, "description": description}[what]
    done = railgauge("topo", "lint", str(path))
    assert (done.returncode, done.stdout) == (5, "")
    assert f"railgauge topo dump --from {path} -o FILE" in done.stderr


def test_an_empty_file_is_called_empty(file):
    path = file("")
    for arguments in (("lint", path), ("show", "--from", path)):
        done = railgauge("topo", *arguments)
        assert (done.returncode, done.stderr) == (5, f"railgauge topo: {path}:1: the file is empty\n")


def test_an_empty_name_of_a_machine_is_wrong_usage(file):
    done = railgauge("topo", "lint", file(HEALTHY), "--from", "")
    assert done.returncode == 2
    assert "--from" in done.stderr


def test_a_level_that_there_is_not_is_answered_with_those_there_are(file):
    done = railgauge("topo", "lint", file(HEALTHY), "--fail-on", "foo")
    assert done.returncode == 2
    assert "'foo' is not one of INFO, WARN, FAIL, UNKNOWN" in done.stderr


def test_a_file_that_is_not_there(tmp_path):
    assert railgauge("topo", "lint", str(tmp_path / "none")).returncode == 5


@pytest.mark.parametrize("arguments", [("--fail-on", "BAD"), ("--from",), ()])
def test_wrong_usage(arguments):
    assert railgauge("topo", "lint", *arguments).returncode == 2


def test_beside_a_fixture_its_host_is_named(file):
    done = railgauge("topo", "lint", file(HEALTHY), "--from", "@dgx-h100", "--json")
    found = json.loads(done.stdout)["findings"]
    assert {finding["id"] for finding in found if finding["level"] == "FAIL"} == {"topo-file-stale"}
    assert {finding["host"] for finding in found} == {"dgx-h100"}


def test_the_live_machine_is_not_what_the_file_says(file):
    """NCCL_TOPO_FILE may name the very file, which would then be held against itself."""
    path = file(HEALTHY)
    done = railgauge("topo", "lint", path, "--from", "live", NCCL_TOPO_FILE=path)
    assert done.returncode == 1
    assert "topo-file-stale" in done.stdout


def test_a_topology_in_a_text_is_judged_alone(file):
    lines = "".join(f"    {line}\n" for line in HEALTHY.splitlines())
    text = f"apiVersion: v1\nkind: ConfigMap\ndata:\n  topology.xml: |\n{lines}---\napiVersion: v1\n"
    done = railgauge("topo", "lint", file(text))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "no findings")
