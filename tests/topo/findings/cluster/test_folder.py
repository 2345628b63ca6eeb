# SPDX-License-Identifier: Apache-2.0
"""Reading a folder: captures and topology files mixed, what cannot be read is named, and processes change nothing."""

import pytest
from tests.topo.findings.cluster.fleets import archive, changed, read, usual, write

from railgauge.topo.errors import InputError
from railgauge.topo.findings.cluster import folder as folder_module
from railgauge.topo.findings.cluster.comparison import compare
from railgauge.topo.findings.cluster.folder import node_files
from railgauge.topo.findings.cluster.words import difference_text
from railgauge.topo.machine import load_machine
from railgauge.topo.xml import topology_file

X8 = '[files]\n"/sys/bus/pci/devices/0000:40:00.0/max_link_width" = "8"\n'
X8 += '"/sys/bus/pci/devices/0000:40:00.0/current_link_width" = "8"'
NVLINK = "[facts.nvml]\ngpus.2.links.5.state = 0"


def write_xml(folder, name, machine):
    write(folder, "made", machine)
    (folder / f"{name}.xml").write_text(topology_file.dumps(load_machine(str(folder / "made.tar.gz")).topology))
    (folder / "made.tar.gz").unlink()


def test_files_that_cannot_be_read_are_named_and_the_others_compared(tmp_path):
    for name in ("n1", "n2", "n3"):
        write(tmp_path, name, usual())
    whole = (tmp_path / "n1.tar.gz").read_bytes()
    (tmp_path / "n4.tar.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "n5.tar.gz").write_bytes(b"")
    (tmp_path / "n6.xml").write_text("<system><cpu")
    (tmp_path / "n7.tar").write_bytes(archive(readme=b"hello"))
    (tmp_path / "n8.xml").mkdir()
    (tmp_path / "n9.tar.gz").symlink_to("nowhere")
    (tmp_path / ".n10.tar.gz").write_bytes(b"hidden")
    (tmp_path / "notes.txt").write_text("not of a node")
    report = compare(*read(tmp_path))
    assert [group.nodes for group in report.groups] == [("n1", "n2", "n3")]
    assert [one.name for one in report.unread] == ["n4", "n5", "n6", "n7", "n8", "n9"]
    for one in report.unread:
        assert one.reason
        assert str(tmp_path) not in one.reason


def test_a_folder_without_nodes_and_none_at_all_are_errors(tmp_path):
    with pytest.raises(InputError, match="holds no file of a node"):
        node_files(str(tmp_path))
    with pytest.raises(InputError, match="No such file"):
        node_files(str(tmp_path / "none"))
    with pytest.raises(InputError, match="one machine, not a folder of captures: railgauge check --from @dgx-h100"):
        node_files("@dgx-h100")


def test_of_two_files_of_a_node_the_capture_counts(tmp_path):
    (tmp_path / "n1.xml").write_text("")
    write(tmp_path, "n1", usual())
    assert [path.rpartition("/")[2] for _, path in node_files(str(tmp_path))] == ["n1.tar.gz"]


def test_nodes_come_in_their_natural_order(tmp_path):
    for name in ("n10", "n2", "n1"):
        (tmp_path / f"{name}.xml").write_text("")
    assert [name for name, _ in node_files(str(tmp_path))] == ["n1", "n2", "n10"]


def test_topology_files_are_compared_with_captures_by_what_they_tell(tmp_path):
    for name in ("n1", "n2", "n3"):
        write(tmp_path, name, usual())
    write_xml(tmp_path, "n4", changed(NVLINK))
    write_xml(tmp_path, "n5", usual())
    write(tmp_path, "n6", changed('[files]\n"/sys/class/infiniband/mlx5_3/fw_ver" = "1"'))
    report = compare(*read(tmp_path))
    assert [(one.nodes, difference_text(one)) for one in report.differences] == [
        (("n6",), "NIC mlx5_3 (0000:40:00.0): firmware 1, 3 of 4 nodes 28.39.1002"),
        (("n4",), "GPU2 (0000:52:00.0): 17 NVLinks, 5 of 6 nodes 18"),
    ]


def test_topology_files_alone_are_compared(tmp_path):
    for name, toml in (("n1", ""), ("n2", ""), ("n3", X8)):
        write_xml(tmp_path, name, changed(toml))
    report = compare(*read(tmp_path))
    assert [difference_text(one) for one in report.differences] == ["NIC mlx5_3 (0000:40:00.0): x8, 2 of 3 nodes x16"]


def test_a_file_of_several_hosts_is_no_node(tmp_path):
    text = '<system version="1"><cpu numaid="0" host_hash="0x1"/><cpu numaid="0" host_hash="0x2"/></system>'
    (tmp_path / "n1.xml").write_text(text)
    assert "several hosts" in read(tmp_path)[1][0].reason


def test_processes_read_what_one_process_reads(tmp_path, monkeypatch):
    for number in range(1, 8):
        write(tmp_path, f"n{number}", changed(X8) if number == 5 else usual())
    (tmp_path / "n8.tar.gz").write_bytes(b"")
    alone = read(tmp_path)
    monkeypatch.setattr(folder_module, "CHUNK", 2)
    monkeypatch.setattr(folder_module.os, "sched_getaffinity", lambda pid: {0, 1})
    together = read(tmp_path)
    assert together == alone
    assert compare(*together) == compare(*alone)


def test_equal_sheets_are_one_object(tmp_path):
    for name in ("n1", "n2"):
        write(tmp_path, name, usual())
    one, other = read(tmp_path)[0]
    assert one.sheet is other.sheet
