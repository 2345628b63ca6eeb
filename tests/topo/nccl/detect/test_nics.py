# SPDX-License-Identifier: Apache-2.0
"""The NICs of a scan: RDMA ports where NCCL uses them, sockets else, and what the XML says of each."""

import pytest
from tests.topo.rdma_tree import ROCE, RdmaTree

from railgauge.fixtures.synthetic import NIC_CLASS, SyntheticMachine
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.nccl.detect.merged_nics import merge_nics
from railgauge.topo.nccl.detect.nics import read_nics
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.xml import topology_file

PEER_MEMORY = "/sys/module/nvidia_peermem/version"
PORT, CARD = "0000:00:01.0", "0000:01:00.0"


@pytest.fixture
def machine(tmp_path):
    made = SyntheticMachine(tmp_path)
    made.numa(0, "0-15", "0000ffff")
    made.gpu("0000:00:02.0", "0000:02:00.0")
    made.nic("eth0", "0000:00:03.0", "0000:03:00.0")
    return made


@pytest.fixture
def rdma(machine):
    return RdmaTree(machine.root)


def hca(machine, rdma, name="mlx5_0", *chain, **port):
    """A card with one port, on its own PCI function."""
    chain = chain or (PORT, CARD)
    machine.pci(*chain, kind=NIC_CLASS, vendor="0x15b3")
    rdma.device(name, *chain)
    rdma.port(name, **port)


def reader(machine, **devices):
    """The machine as libibverbs and all else tell it; `devices` are max_qp and DMA-BUF by name."""
    told = [{"name": name, "max_qp": qp, "dma_buf": dma, "ports": []} for name, (qp, dma) in devices.items()]
    live = machine.reader()
    return LiveReader(str(machine.root), {**live.ask, "verbs": lambda: {"interpreter": "x", "devices": told}})


def nets(machine_reader, **environment):
    topology = scan(machine_reader, environment).topology
    return [dict(e.attributes) for e in topology.root.walk() if e.name == "net"]


def test_a_port_is_written_as_nccl_writes_it(machine, rdma):
    hca(machine, rdma)
    machine.write(PEER_MEMORY, "1\n")
    text = topology_file.dumps(scan(reader(machine, mlx5_0=(131072, 1)), {}).topology)
    net = 'name="mlx5_0" dev="0" latency="0" speed="400000" port="1" guid="0x3278900003ae6d94" maxconn="131072" gdr="1"'
    assert f"<net {net}/>" in text
    assert "eth0" not in text


def test_it_stands_on_its_pci_function(machine, rdma):
    hca(machine, rdma)
    topology = scan(reader(machine, mlx5_0=(1, 1)), {}).topology
    holder = next(e for e in topology.root.walk() if e.name == "pci" and e.get("busid") == CARD)
    assert [net.get("name") for nic in holder.all("nic") for net in nic.all("net")] == ["mlx5_0"]


@pytest.mark.parametrize("setting", [{"NCCL_IB_DISABLE": "1"}, {"NCCL_NET": "Socket"}, {"NCCL_IB_HCA": "^mlx5"}])
def test_settings_lead_to_sockets(machine, rdma, setting):
    hca(machine, rdma)
    assert [net["name"] for net in nets(reader(machine, mlx5_0=(1, 1)), **setting)] == ["eth0"]


def test_a_port_that_is_down_is_told_and_sockets_taken(machine, rdma):
    hca(machine, rdma, state="1: DOWN")
    result = scan(reader(machine, mlx5_0=(1, 1)), {})
    assert "RDMA ports that NCCL does not use: mlx5_0:1 (port state is DOWN)" in result.warnings
    assert [e.get("name") for e in result.topology.root.walk() if e.name == "net"] == ["eth0"]


def test_a_socket_setting_that_leaves_nothing_is_named_with_what_it_leaves_out(machine):
    _, remarks = read_nics(machine.reader(), {"NCCL_SOCKET_IFNAME": "nope"})
    assert "NCCL_SOCKET_IFNAME=nope excludes every network interface with an address: eth0" in remarks


def test_without_a_port_nccl_net_ib_has_no_nic(machine):
    nics, remarks = read_nics(machine.reader(), {"NCCL_NET": "IB"})
    assert nics == ()
    assert any("would not start" in remark for remark in remarks)


def test_what_only_libibverbs_knows_is_left_out_without_it(machine, rdma):
    hca(machine, rdma)
    result = scan(machine.reader(), {})
    net = next(e for e in result.topology.root.walk() if e.name == "net")
    assert (net.get("maxconn"), net.get("gdr")) == (None, None)
    assert any("maxconn of mlx5_0 omitted" in warning for warning in result.warnings)
    assert any("gdr of mlx5_0 omitted, which counts as 0" in warning for warning in result.warnings)
    build_system(result.topology)


def test_soft_roce_hangs_bare_on_the_first_cpu(machine, rdma):
    rdma.device("rxe0")
    rdma.port("rxe0", rate="10 Gb/sec (4X SDR)", **ROCE)
    result = scan(reader(machine, rxe0=(1, 0)), {})
    bare = next(result.topology.cpus[0].all("nic"))
    assert [net.get("name") for net in bare.all("net")] == ["rxe0"]
    assert "rxe0 placed on the first CPU: no device" in result.warnings


def test_two_functions_of_a_card_are_one_device_to_nccl(machine, rdma):
    hca(machine, rdma, "mlx5_0")
    hca(machine, rdma, "mlx5_1", PORT, "0000:01:00.1")
    topology = scan(reader(machine, mlx5_0=(1, 1), mlx5_1=(1, 1)), {}).topology
    found = [(e.get("name"), e.get("port")) for e in topology.root.walk() if e.name == "net"]
    assert found == [("mlx5_0", "1"), ("mlx5_1", "2")]
    merged = [e for e in merge_nics(topology).root.walk() if e.name == "net" and e.get("net") != "0"]
    assert [(e.get("name"), e.get("dev"), e.get("speed")) for e in merged] == [("mlx5_0+mlx5_1", "2", "800000")]


def test_a_function_whose_card_the_guest_lacks_hangs_on_the_first_cpu(machine, rdma):
    hca(machine, rdma, "mlx5_0", PORT, "0000:01:02.1")  # NCCL looks for 0000:01:00.0
    result = scan(reader(machine, mlx5_0=(1, 1)), {})
    assert any(warning.startswith("mlx5_0 placed on the first CPU") for warning in result.warnings)


def test_a_rate_that_is_unreadable_counts_as_ten_gigabits(machine, rdma):
    hca(machine, rdma, rate="")
    result = scan(reader(machine, mlx5_0=(1, 1)), {})
    assert "mlx5_0: speed unknown, assumed 10 Gb/s" in result.warnings


def test_the_guid_of_a_socket_is_its_number(machine):
    machine.nic("eth1", "0000:00:04.0", "0000:04:00.0")
    assert [net["guid"] for net in nets(machine.reader())] == ["0x0", "0x1"]
