# SPDX-License-Identifier: Apache-2.0
"""What the first rank of a node finds out for the others."""

import os

import pytest
from tests.collectives.fake_machines import QUIET, node, over_ib

from railgauge.collectives.node_detection import detect_node
from railgauge.collectives.node_machine import dump_path
from railgauge.topo.errors import InputError, UnavailableError
from railgauge.transports.nccl_log import NcclLog


@pytest.fixture
def said(tmp_path):
    """A log at INFO, and a function that reads it."""
    path = tmp_path / "log"
    log = NcclLog(0, {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "ALL", "NCCL_DEBUG_FILE": str(path)})
    return log, path.read_text


def nets_of(node):
    return {channel.nets for channel in node.plan()[2].ring.channels}


def test_one_node_alone_needs_no_nic(tmp_path):
    assert nets_of(node(tmp_path, "a", 2, 1, {})) == {()}


def test_one_of_several_leaves_by_its_nics(tmp_path):
    assert nets_of(node(tmp_path, "a", 2, 2, {"lo": 10_000})) == {(0, 0)}


def test_a_topology_without_a_nic_gets_this_hosts_interface_and_it_is_said(tmp_path, said):
    log, text = said
    got = node(tmp_path, "a", 2, 2, {}, log=log)
    assert nets_of(got) == {(0, 0)}
    assert 'name="lo"' in got.topology
    assert "The topology has no NIC: using lo:127.0.0.1<0>" in text()


def test_nics_that_are_no_interfaces_here_are_replaced_and_it_is_said(tmp_path, said):
    log, text = said
    got = node(tmp_path, "a", 2, 2, {"mlx5_0": 400_000, "lo": 10_000}, log=log)
    assert [got.device(dev) for dev in (0, 1)] == [0, 0]
    assert "NET/0-0 (mlx5_0) is not an interface of this host: using lo:127.0.0.1<0> instead" in text()
    assert "(lo) is no interface" not in text()


def test_nics_of_rdma_are_those_of_the_topology_by_name(tmp_path, said):
    log, text = said
    nics = {"mlx5_0": 400_000, "mlx5_1": 400_000, "eth0": 10_000}
    got = node(tmp_path, "a", 2, 2, nics, log=log, network=over_ib((1,), (0,)))
    assert [got.device(dev) for dev in (0, 1)] == [0, 1]
    assert "NET/0-2 (eth0) is not a NIC of NET/IB of this host: using mlx5_1:1/RoCE instead" in text()


def test_ports_that_are_one_nic_are_one_in_the_plan(tmp_path):
    got = node(tmp_path, "a", 2, 2, {"mlx5_0": 200_000, "mlx5_1": 200_000}, network=over_ib((0, 1)))
    assert nets_of(got) == {(2, 2)}
    assert got.device(2) == 2
    assert 'name="mlx5_0+mlx5_1"' in got.topology


def test_a_topology_without_a_nic_gets_the_first_of_rdma(tmp_path, said):
    log, text = said
    got = node(tmp_path, "a", 2, 2, {}, log=log, network=over_ib((0, 1)))
    assert 'name="mlx5_0+mlx5_1"' in got.topology
    assert got.device(0) == 2
    assert "The topology has no NIC: using mlx5_0:1/RoCE+mlx5_1:1/RoCE" in text()


def test_the_live_machine_is_described_by_the_interfaces_that_may_be_used():
    got = detect_node("here", 2, 2, None, QUIET, {"NCCL_SOCKET_IFNAME": "lo"})
    assert [name for name in ("lo", "eth0") if f'name="{name}"' in got.topology] == ["lo"]
    assert got.device(0) == 0
    assert set().union(*map(set, got.cpus)) <= os.sched_getaffinity(0)


def test_no_interface_at_all_is_an_error_that_lists_them():
    with pytest.raises(UnavailableError, match=r"NCCL_SOCKET_IFNAME=nosuch matches no interface.*lo"):
        detect_node("here", 2, 2, None, QUIET, {"NCCL_SOCKET_IFNAME": "nosuch"})


@pytest.mark.parametrize("variable", ["NCCL_GRAPH_FILE", None])
def test_a_graph_file_is_taken(tmp_path, variable):
    graph = tmp_path / "graph.txt"
    graph.write_text(node(tmp_path, "a", 3, 2, {"lo": 10_000}).graphs.replace('dev="0x1"', 'dev="0x7"'))
    options = {"environ": {variable: str(graph)}} if variable else {"graph_file": str(graph)}
    with pytest.raises(InputError, match="dev 0x7 is not on this machine"):
        node(tmp_path, "a", 3, 2, {"lo": 10_000}, **options)


@pytest.mark.parametrize(("nodes", "names"), [(1, ["g.txt", "t.xml"]), (2, ["g.gpu-01.txt", "t.gpu-01.xml"])])
def test_dumps_carry_the_hosts_name_where_there_are_several(tmp_path, nodes, names):
    folder = tmp_path / "dumps"
    folder.mkdir()
    dumps = {"NCCL_TOPO_DUMP_FILE": str(folder / "t.xml"), "NCCL_GRAPH_DUMP_FILE": str(folder / "g.txt")}
    node(tmp_path, "gpu-01", 2, nodes, {"lo": 10_000}, environ=dumps)
    assert sorted(path.name for path in folder.iterdir()) == names


def test_a_dump_that_cannot_be_written_is_a_warning(tmp_path, capsys):
    node(tmp_path, "a", 2, 1, {}, environ={"NCCL_TOPO_DUMP_FILE": str(tmp_path / "no" / "t.xml")})
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("graph.txt", "graph.gpu-01.txt"),
        ("/tmp/a.b/topo.xml", "/tmp/a.b/topo.gpu-01.xml"),
        ("a.tar.zst", "a.gpu-01.tar.zst"),
        ("./topo", "topo.gpu-01"),
        (".hidden", ".hidden.gpu-01"),
    ],
)
def test_dump_paths(path, expected):
    assert dump_path(path, "gpu-01") == expected
