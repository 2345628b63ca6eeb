# SPDX-License-Identifier: Apache-2.0
"""railgauge topo show --view rdma: the table on stdout, what is missing on stderr, one document with --json."""

import json

from tests.cli.command import in_process as railgauge
from tests.topo.rdma_tree import ROCE, RdmaTree

from railgauge.topo.facts.capture import dumps
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.recording import capture_of
from railgauge.topo.facts.sources.sysfs_infiniband import read_rdma

MAPPED = "0000:0000:0000:0000:0000:ffff:c000:0207"


def captured(tmp_path, *devices: str) -> str:
    """A capture of a machine with RoCE devices."""
    tree = RdmaTree(tmp_path / "root")
    for number, name in enumerate(devices):
        tree.device(name, f"0000:{number + 16:x}:00.0")
        tree.port(name, gids={0: (MAPPED, "RoCE v2", f"eth{number}")}, **ROCE)
    reader = LiveReader(str(tree.root))
    read_rdma(reader)
    file = tmp_path / "machine.capture"
    file.write_bytes(dumps(capture_of(reader, "gpu-1")))
    return str(file)


def test_the_table_is_on_stdout_and_reasons_on_stderr(tmp_path):
    result = railgauge("topo", "show", "--view", "rdma", "--from", captured(tmp_path, "mlx5_0", "mlx5_1"))
    assert result.returncode == 0
    assert result.stdout.splitlines()[0].split()[:3] == ["Device", "Port", "State"]
    assert "NET 1, GID 0 (192.0.2.7)" in result.stdout
    assert "libibverbs was not queried" in result.stderr
    assert "\x1b" not in result.stdout


def test_settings_of_this_shell_do_not_touch_a_capture(tmp_path):
    file = captured(tmp_path, "mlx5_0")
    result = railgauge("topo", "show", "--view", "rdma", "--from", file, NCCL_IB_HCA="^mlx5")
    assert "NET 0" in result.stdout


def test_one_document(tmp_path):
    result = railgauge("topo", "show", "--view", "rdma", "--json", "--from", captured(tmp_path, "mlx5_0"))
    document = json.loads(result.stdout)
    assert document["schema"] == "railgauge/rdma/1"
    (device,) = document["devices"]
    assert device["ports"][0]["gids"] == [{"index": 0, "gid": MAPPED, "type": "RoCE v2", "netdev": "eth0"}]


def test_names_of_a_capture_do_not_steer_the_terminal(tmp_path):
    result = railgauge("topo", "show", "--view", "rdma", "--from", captured(tmp_path, "mlx\x1b[31m5"))
    assert "\x1b" not in result.stdout + result.stderr
    assert "mlx\ufffd[31m5" in result.stdout


def test_a_bad_topology_file_has_no_part_in_it(tmp_path):
    bad = tmp_path / "bad.xml"
    bad.write_text("no XML")
    assert railgauge("topo", "show", "--view", "rdma", NCCL_TOPO_FILE=str(bad)).returncode == 0
    assert railgauge("topo", "dump", NCCL_TOPO_FILE=str(bad)).returncode == 5


def test_a_machine_without_rdma_is_told_in_one_line():
    result = railgauge("topo", "show", "--view", "rdma", "--from", "@laptop")
    assert (result.returncode, len(result.stdout.splitlines())) == (0, 1)
    assert result.stdout.startswith("No RDMA device")


def test_a_topology_file_has_no_rdma_devices(tmp_path):
    file = tmp_path / "topo.xml"
    file.write_text('<system version="1"><cpu host_hash="0x1" numaid="0" affinity="1" arch="x86_64"/></system>')
    result = railgauge("topo", "show", "--view", "rdma", "--from", str(file))
    assert (result.returncode, result.stdout) == (2, "")
    assert "a topology file has no RDMA devices" in result.stderr
