# SPDX-License-Identifier: Apache-2.0
"""RDMA devices read from sysfs trees: made-up ones of every kind, and a recorded H100 host."""

import errno
import shutil
import tarfile
from pathlib import Path

import pytest
from tests.topo.rdma_tree import ROCE, RdmaTree

from railgauge.topo.facts import reader as live
from railgauge.topo.facts.capture import CaptureReader
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.recording import capture_of
from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice, RdmaPort, read_rdma

SAMPLES = Path(__file__).parents[5] / "shared" / "samples"
LOCAL = "fe80:0000:0000:0000:0ac0:ebff:feda:1cfb"
MAPPED = "0000:0000:0000:0000:0000:ffff:c800:d106"


@pytest.fixture
def tree(tmp_path):
    return RdmaTree(tmp_path)


def test_an_infiniband_port_has_all_that_ibstat_tells(tree):
    tree.device("mlx5_0", "0000:17:00.0", "0000:18:00.0", numa=1, netdev="ibp24s0")
    tree.port("mlx5_0", gids={0: ("fe80:0000:0000:0000:946d:ae03:0090:7832", "IB/RoCE v1", None)})
    (device,) = tree.read()
    (port,) = device.ports
    assert (device.hca_type, device.firmware, device.hw_rev, device.board_id) == (
        "MT4129",
        "28.39.1002",
        "0",
        "MT_0000000838",
    )
    assert (device.node_guid, device.sys_image_guid) == ("946d:ae03:0090:7832", "946d:ae03:0090:7832")
    assert (device.bus_id, device.numa, device.protocol, device.virtual) == ("0000:18:00.0", 1, "infiniband", False)
    assert (port.state, port.physical_state, port.link_layer) == ("ACTIVE", "LinkUp", "InfiniBand")
    assert (port.lid, port.sm_lid, port.lmc, port.cap_mask) == (13305, 1, 0, 0xA751E848)
    assert (port.rate_gbps, port.width, port.speed) == (400.0, 4, "NDR")
    assert (port.guid, port.netdev) == ("946d:ae03:0090:7832", "ibp24s0")


def test_roce_gids_have_type_and_interface(tree):
    tree.device("mlx5_bond_0", "0000:3b:00.0", netdev="ens1f0np0")
    gids = {0: (LOCAL, "IB/RoCE v1", "bond0"), 1: (LOCAL, "RoCE v2", "bond0"), 5: (MAPPED, "RoCE v2", "bond0.7")}
    tree.port("mlx5_bond_0", gids=gids, **ROCE)
    (device,) = tree.read()
    (port,) = device.ports
    assert [(gid.index, gid.roce_version, gid.netdev) for gid in port.gids] == [
        (0, 1, "bond0"),
        (1, 2, "bond0"),
        (5, 2, "bond0.7"),
    ]
    assert (device.protocol, port.netdev, port.gid_table_length) == ("roce", "bond0", 8)


def test_without_gids_the_table_is_not_read(tree):
    tree.device("mlx5_0", "0000:18:00.0")
    tree.port("mlx5_0", gids={0: (LOCAL, "RoCE v2", "eth0")}, **ROCE)
    (device,) = read_rdma(LiveReader(str(tree.root)), gids=False)
    assert device.ports[0].gids == ()


def test_soft_roce_is_virtual_and_knows_the_function_below_its_interface(tree):
    tree.write("/sys/devices/pci0000:23/0000:23:00.0/virtio3/uevent", "")
    tree.link("/sys/class/net/eth1/device", "/sys/devices/pci0000:23/0000:23:00.0/virtio3")
    tree.device("rxe0", parent="eth1")
    tree.port("rxe0", gids={0: (LOCAL, "RoCE v2", "eth1")}, **ROCE)
    (device,) = tree.read()
    assert (device.virtual, device.path, device.bus_id) == (True, None, None)
    assert (device.carrier_bus_id, device.hca_type, device.protocol) == ("0000:23:00.0", None, "roce")


def test_a_virtual_function_names_its_physical_one(tree):
    tree.device("mlx5_0", "0000:18:00.0")
    path = tree.device("mlx5_2", "0000:18:00.2")
    tree.link(f"{path}/physfn", "/sys/devices/pci0000:18/0000:18:00.0")
    assert [(device.bus_id, device.physfn) for device in tree.read()] == [
        ("0000:18:00.0", None),
        ("0000:18:00.2", "0000:18:00.0"),
    ]


@pytest.mark.parametrize(
    ("node_type", "link_layer", "want"),
    [
        ("1: CA", "InfiniBand", "infiniband"),
        ("1: CA", "Ethernet", "roce"),
        ("4: RNIC", "Ethernet", "iwarp"),
        ("5: usNIC", "Ethernet", "usnic"),
        ("7: unspecified", "Unknown", "unspecified"),
        ("1: CA", "Unknown", None),
        ("", "Ethernet", None),
        ("", "InfiniBand", "infiniband"),
    ],
)
def test_protocols_are_told_apart(tree, node_type, link_layer, want):
    tree.device("d0", "0000:18:00.0", node_type=node_type)
    tree.port("d0", link_layer=link_layer)
    assert tree.read()[0].protocol == want


def test_a_card_with_one_port_of_each_kind_is_mixed(tree):
    tree.device("mlx4_0", "0000:18:00.0")
    tree.port("mlx4_0", 1)
    tree.port("mlx4_0", 2, **ROCE)
    (device,) = tree.read()
    assert ([port.number for port in device.ports], device.protocol) == ([1, 2], "mixed")


def test_ports_of_one_function_have_their_own_interfaces(tree):
    path = tree.device("mlx4_0", "0000:18:00.0", netdev="eth2")
    tree.write(f"{path}/net/eth3/dev_port", "1")
    tree.port("mlx4_0", 1, **ROCE)
    tree.port("mlx4_0", 2, **ROCE)
    assert [port.netdev for port in tree.read()[0].ports] == ["eth2", "eth3"]


@pytest.mark.parametrize(
    ("rate", "want"),
    [
        ("10 Gb/sec (4X)", (10.0, 4, None)),
        ("2.5 Gb/sec (1X SDR)", (2.5, 1, "SDR")),
        ("40 Gb/sec (4X FDR10)", (40.0, 4, "FDR10")),
        ("800 Gb/sec (4X XDR)", (800.0, 4, "XDR")),
        ("100 Gb/sec", (100.0, None, None)),
        ("?", (None, None, None)),
        (None, (None, None, None)),
    ],
)
def test_rates(rate, want):
    port = RdmaPort(number=1, rate=rate)
    assert (port.rate_gbps, port.width, port.speed) == want


def test_a_device_that_vanishes_or_is_unreadable_leaves_none(tree):
    tree.write("/sys/class/infiniband/mlx5_8/ports/junk/state", "4: ACTIVE")
    tree.write("/sys/class/infiniband/mlx5_8/ports/1/lid", "0xzz")
    tree.write("/sys/class/infiniband/mlx5_8/ports/1/state", "nonsense")
    tree.link("/sys/class/infiniband/mlx5_9", "/sys/devices/gone")
    broken, gone = tree.read()
    assert broken.ports == (RdmaPort(number=1, state="nonsense"),)
    assert gone == RdmaDevice(name="mlx5_9", gone=True)


def test_a_hole_in_the_table_is_no_problem(tree, monkeypatch):
    """Containers see entries of other network namespaces, whose type and interface read as EINVAL."""
    tree.device("mlx5_0", "0000:18:00.0")
    tree.port("mlx5_0", gids={3: (MAPPED, "no value", "no value")}, **ROCE)
    reader = LiveReader(str(tree.root))
    plain = live._read

    def read(descriptor: int) -> bytes:
        data = plain(descriptor)
        if data.strip() == b"no value":
            raise OSError(errno.EINVAL, "Invalid argument")
        return data

    monkeypatch.setattr(live, "_read", read)
    (device,) = read_rdma(reader)
    assert [(gid.index, gid.type, gid.netdev) for gid in device.ports[0].gids] == [(3, None, None)]
    assert reader.problems == {}


def test_a_capture_replays_the_same_devices(tree):
    tree.device("mlx5_0", "0000:17:00.0", "0000:18:00.0", netdev="eth2")
    tree.port("mlx5_0", gids={0: (LOCAL, "IB/RoCE v1", "eth2"), 1: (MAPPED, "RoCE v2", "eth2")}, **ROCE)
    tree.device("rxe0", parent="eth2")
    tree.port("rxe0", **ROCE)
    reader = LiveReader(str(tree.root))
    recorded = read_rdma(reader)
    assert read_rdma(CaptureReader(capture_of(reader, "host"))) == recorded


def test_the_recorded_h100_host(tmp_path):
    archive = SAMPLES / "gpud-sys-class-infiniband-h100.tar.gz"
    if not archive.is_file():
        pytest.skip("no shared samples here")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (tmp_path / "sys/class").mkdir(parents=True)
    shutil.move(next(tmp_path.glob("sys-class-infiniband-*")), tmp_path / "sys/class/infiniband")
    devices = {device.name: device for device in read_rdma(LiveReader(str(tmp_path)))}
    cards = [name for name in devices if name != "mlx5_bond_0"]
    assert len(cards) == 8
    for name in cards:
        (port,) = devices[name].ports
        assert (devices[name].hca_type, port.state, port.rate_gbps, port.speed) == ("MT4129", "ACTIVE", 400.0, "NDR")
    (bond,) = devices["mlx5_bond_0"].ports
    assert (bond.link_layer, bond.rate_gbps, bond.width, devices["mlx5_bond_0"].protocol) == (
        "Ethernet",
        200.0,
        2,
        None,
    )
