# SPDX-License-Identifier: Apache-2.0
"""A kernel log in a file: check --dmesg, and log explain of the same file by the same cards."""

import json

from tests.cli.command import in_process as railgauge
from tests.topo.facts.sources.test_kernel_log import BOOT, FELL

ONLY = ("--only", "gpu-xid", "--only", "nvswitch-sxid")
SWITCH = "[  101.5] nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
LOG = f"{BOOT}[  100.5] {FELL}\n{SWITCH}\n"


def checked(tmp_path, text, *more):
    path = tmp_path / "dmesg.txt"
    path.write_text(text)
    done = railgauge("check", "--from", "@dgx-h100", "--dmesg", str(path), *ONLY, "--json", *more)
    return done.returncode, json.loads(done.stdout)["findings"] if done.stdout else done.stderr


def test_a_file_takes_the_place_of_the_machines_log(tmp_path):
    status, found = checked(tmp_path, LOG)
    assert status == 1
    assert [(one["id"], one["level"], one["subject"]) for one in found] == [
        ("gpu-xid", "FAIL", "0000:3b:00.0"),
        ("nvswitch-sxid", "FAIL", "0000:a9:00.0"),
    ]
    assert found[0]["evidence"]["drain"] is True
    status, found = checked(tmp_path, BOOT)
    assert (status, {one["level"] for one in found}) == (0, {"PASS"})


def test_what_is_no_kernel_log_is_unknown(tmp_path):
    status, found = checked(tmp_path, "hello\n")
    assert (status, {one["level"] for one in found}) == (0, {"UNKNOWN"})


def test_a_file_that_is_not_there_is_invalid_input(tmp_path):
    done = railgauge("check", "--from", "@dgx-h100", "--dmesg", str(tmp_path / "absent"))
    assert done.returncode == 5
    assert "absent: no such file" in done.stderr


def test_a_topology_file_has_no_kernel_log(tmp_path):
    (tmp_path / "topo.xml").write_text(railgauge("topo", "dump", "--from", "@dgx-h100").stdout)
    (tmp_path / "dmesg").write_text(BOOT)
    done = railgauge("check", "--from", str(tmp_path / "topo.xml"), "--dmesg", str(tmp_path / "dmesg"))
    assert done.returncode == 2


def test_a_capture_keeps_it(tmp_path):
    path = tmp_path / "node.tar.gz"
    assert checked(tmp_path, LOG, "--save-capture", str(path))[0] == 1
    again = json.loads(railgauge("check", "--from", str(path), *ONLY, "--json").stdout)["findings"]
    assert [one["level"] for one in again] == ["FAIL", "FAIL"]


def test_log_explain_gives_the_same_findings(tmp_path):
    path = tmp_path / "dmesg.txt"
    path.write_text(LOG)
    done = railgauge("log", "explain", str(path), "--json")
    _, found = checked(tmp_path, LOG)
    explained = json.loads(done.stdout)["findings"]
    assert done.returncode == 1
    for one in (*explained, *found):
        one.pop("host")
    assert explained == found


def test_a_kernel_log_without_a_fault_explains_as_such(tmp_path):
    path = tmp_path / "dmesg.txt"
    path.write_text(BOOT)
    done = railgauge("log", "explain", str(path))
    assert (done.returncode, done.stdout.strip()) == (0, "no problem found.")


def test_only_the_gpus_that_were_asked_for_are_judged():
    only = ("--only", "gpu-xid", "--only", "gpu-row-remap", "--json")
    for gpus, levels in (("0,2", {"PASS"}), ("0,3", {"FAIL", "WARN"})):
        found = json.loads(railgauge("check", "--from", "@dgx-h100-xid", "--gpus", gpus, *only).stdout)["findings"]
        assert {one["level"] for one in found} == levels


def test_two_readings_show_what_rises():
    done = railgauge("check", "--from", "@dgx-h100-xid", "-r", "2", "--only", "nvlink-errors", "--json")
    [found] = json.loads(done.stdout)["findings"]
    assert found["evidence"]["per_s"] == {"replay": 214.0}
