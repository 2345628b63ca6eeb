# SPDX-License-Identifier: Apache-2.0
"""topo diff as a command: exit status, text, JSON, and what may stand on each side."""

import json

from tests.cli.command import in_process as railgauge


def test_equal_machines_end_with_0():
    done = railgauge("topo", "diff", "@dgx-h100", "@dgx-h100")
    assert (done.returncode, done.stdout) == (0, "no difference\n")


def test_different_machines_end_with_1_and_a_line_each():
    done = railgauge("topo", "diff", "@dgx-h100", "@hgx-h100-8nic")
    assert done.returncode == 1
    assert "driver 550.90.07 -> 570.133.20" in done.stdout.splitlines()


def test_json_holds_the_same():
    text = railgauge("topo", "diff", "@dgx-h100", "@hgx-h100-8nic").stdout.splitlines()
    done = railgauge("topo", "diff", "@dgx-h100", "@hgx-h100-8nic", "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["schema"]) == (1, "railgauge/diff/1")
    assert [change["message"] for change in document["changes"]] == text
    assert set(document["changes"][0]) == {"subject", "what", "before", "after", "message"}
    assert document["before"] == {"source": "@dgx-h100", "host": "dgx-h100"}


def test_a_capture_of_this_machine_is_this_machine(tmp_path):
    path = str(tmp_path / "here.tar.zst")
    assert railgauge("topo", "capture", "--redact", "-o", path).returncode == 0
    done = railgauge("topo", "diff", path, "live")
    assert (done.returncode, done.stdout) == (0, "no difference\n")


def test_settings_of_this_shell_have_no_part_in_it(tmp_path):
    path = str(tmp_path / "here.tar.zst")
    assert railgauge("topo", "capture", "-o", path).returncode == 0
    done = railgauge("topo", "diff", path, "live", NCCL_TOPO_FILE=__file__, NCCL_SOCKET_IFNAME="nope")
    assert (done.returncode, done.stdout) == (0, "no difference\n")


def test_a_topology_file_says_what_is_not_compared(tmp_path):
    path = str(tmp_path / "topo.xml")
    assert railgauge("topo", "dump", "--from", "@dgx-h100", "-o", path).returncode == 0
    done = railgauge("topo", "diff", "@dgx-h100", path)
    assert (done.returncode, done.stdout) == (0, "no difference\n")
    assert f"{path} is a topology file" in done.stderr


def test_what_is_not_there_ends_with_5(tmp_path):
    done = railgauge("topo", "diff", "@dgx-h100", str(tmp_path / "none"))
    assert done.returncode == 5
    assert "No such file" in done.stderr
