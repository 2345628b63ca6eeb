# SPDX-License-Identifier: Apache-2.0
"""Which NICs NET/IB takes of synthetic hosts, and what it says where it takes none."""

import pytest
from tests.topo.rdma_tree import RdmaTree
from tests.transports.ib.fake_nics import gids, listed, reader, roce, without_library

from railgauge.transports.ib.device import BY_LID, find_devices

KIB = 1024


@pytest.fixture
def tree(tmp_path):
    return RdmaTree(tmp_path)


def found(tree, settings=None, **limits):
    return find_devices(reader(tree, **limits), settings or {})


def named(tree, settings=None):
    return [(one.number, one.name) for one in found(tree, settings).devices]


def test_ports_are_numbered_and_have_nccls_gid(tree, monkeypatch):
    roce(tree, "mlx5_0", "mlx5_1")
    listed(monkeypatch, "mlx5_0", "mlx5_1")
    assert named(tree) == [(0, "mlx5_0"), (1, "mlx5_1")]
    (port,) = found(tree).devices[1].ports
    assert (port.number, port.gid_index, port.address, str(port)) == (1, 3, "10.77.1.1", "mlx5_1:1/RoCE")
    assert found(tree).devices[1].where == "mlx5_1:1 (10.77.1.1)"


@pytest.mark.parametrize(
    ("setting", "taken"),
    [
        ("mlx5_1", [(0, "mlx5_1"), (1, "mlx5_10")]),
        ("=mlx5_1", [(0, "mlx5_1")]),
        ("^mlx5_1", [(0, "mlx5_0")]),
        ("^=mlx5_1", [(0, "mlx5_0"), (1, "mlx5_10")]),
        ("mlx5_0:1", [(0, "mlx5_0")]),
    ],
)
def test_nccl_ib_hca_chooses(tree, monkeypatch, setting, taken):
    roce(tree, "mlx5_0", "mlx5_1", "mlx5_10")
    listed(monkeypatch, "mlx5_0", "mlx5_1", "mlx5_10")
    assert named(tree, {"NCCL_IB_HCA": setting}) == taken


def test_names_that_match_nothing_are_told_with_those_that_are_there(tree, monkeypatch):
    roce(tree, "mlx5_0", "mlx5_1")
    listed(monkeypatch, "mlx5_0", "mlx5_1")
    wrong = found(tree, {"NCCL_IB_HCA": "mlx4"})
    assert wrong.devices == ()
    assert wrong.why_not == "mlx5_0:1: NCCL_IB_HCA=mlx4 excludes it; mlx5_1:1: NCCL_IB_HCA=mlx4 excludes it"
    assert wrong.remarks == ("NCCL_IB_HCA: 'mlx4' matches no port of this machine",)
    assert found(tree, {"NCCL_IB_HCA": "mlx5_0,mlx4"}).devices


def test_ports_of_one_card_are_one_nic_after_all_ports(tree, monkeypatch):
    roce(tree, "rxe0", "rxe1", soft=True)
    listed(monkeypatch, "rxe0", "rxe1")
    assert named(tree) == [(2, "rxe0+rxe1")]
    assert str(found(tree).devices[0]) == "rxe0:1/RoCE+rxe1:1/RoCE"
    assert named(tree, {"NCCL_IB_MERGE_NICS": "0"}) == [(0, "rxe0"), (1, "rxe1")]
    assert named(tree, {"NCCL_IB_HCA": "rxe1"}) == [(0, "rxe1")]


def test_a_port_goes_by_the_interface_that_has_its_gid(tree, monkeypatch):
    roce(tree, "mlx5_0", gids={3: (gids()[3][0], gids()[3][1], "eth0.100")})
    listed(monkeypatch, "mlx5_0")
    assert found(tree).devices[0].ports[0].netdev == "eth0.100"


def test_infiniband_is_addressed_by_its_lid(tree, monkeypatch):
    tree.device("mlx5_0", "0000:18:00.0")
    tree.port("mlx5_0", gids={0: ("fe80:0000:0000:0000:946d:ae03:0090:7832", None, None)})
    listed(monkeypatch, "mlx5_0")
    (port,) = found(tree).devices[0].ports
    assert (port.gid_index, port.address, str(port)) == (BY_LID, "LID 13305", "mlx5_0:1/IB")


def test_a_gid_with_a_flid_is_used_on_infiniband(tree, monkeypatch):
    tree.device("mlx5_0", "0000:18:00.0")
    tree.port("mlx5_0", gids={1: ("fe80:0000:0007:0000:946d:ae03:0090:7832", None, None)})
    listed(monkeypatch, "mlx5_0")
    assert found(tree).devices[0].ports[0].gid_index == 1


def test_the_setting_of_an_index_is_taken(tree, monkeypatch):
    roce(tree, "mlx5_0")
    listed(monkeypatch, "mlx5_0")
    assert found(tree, {"NCCL_IB_GID_INDEX": "1"}).devices[0].ports[0].gid_index == 1


def test_an_empty_gid_is_told_with_those_that_are_there(tree, monkeypatch):
    roce(tree, "mlx5_0", gids={2: gids()[2], 5: gids()[3]})
    listed(monkeypatch, "mlx5_0")
    assert found(tree).devices[0].ports[0].gid_index == 5  # holes are stepped over
    why = found(tree, {"NCCL_IB_GID_INDEX": "3"}).why_not
    assert why.startswith("mlx5_0:1: GID index 3 is empty")
    assert "valid GIDs: 2 (10.77.0.1, IB/RoCE v1), 5 (10.77.0.1, RoCE v2): unset NCCL_IB_GID_INDEX" in why


def test_an_interface_without_an_address_is_told(tree, monkeypatch):
    roce(tree, "mlx5_0", gids={})
    listed(monkeypatch, "mlx5_0")
    assert "valid GIDs: none: give eth0 an IPv4 address" in found(tree).why_not


@pytest.mark.parametrize("settings", [{"NCCL_IB_DISABLE": "1"}, {"NCCL_NET": "Socket"}])
def test_settings_that_turn_it_off_are_named_and_expected(tree, monkeypatch, settings):
    roce(tree, "mlx5_0")
    listed(monkeypatch, "mlx5_0")
    ((name, value),) = settings.items()
    off = found(tree, settings)
    assert (off.devices, off.why_not, off.expected) == ((), f"disabled by {name}={value}", False)


def test_a_host_without_devices_needs_no_library(tree, monkeypatch):
    without_library(monkeypatch, "must not be asked")
    assert "no RDMA device" in found(tree).why_not
    assert not found(tree).expected


def test_a_library_that_is_missing_is_named(tree, monkeypatch):
    roce(tree, "mlx5_0")
    without_library(monkeypatch, "libibverbs.so.1 cannot be loaded: install libibverbs1")
    got = found(tree)
    assert got.why_not == "mlx5_0: libibverbs.so.1 cannot be loaded: install libibverbs1"
    assert got.expected


def test_a_device_without_its_node_is_told_what_containers_need(tree, monkeypatch):
    roce(tree, "mlx5_0")
    tree.write("/dev/null", "")
    tree.write("/sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0")
    listed(monkeypatch)
    assert found(tree).why_not == (
        "mlx5_0:1: /dev/infiniband/uverbs0 does not exist (docker run --device /dev/infiniband)"
    )


def test_a_device_that_cannot_be_opened_says_why(tree, monkeypatch):
    roce(tree, "mlx5_0")
    listed(monkeypatch, mlx5_0="Permission denied")
    assert "mlx5_0:1: libibverbs cannot open it: Permission denied (may this user" in found(tree).why_not


def test_ports_that_are_down_are_told(tree, monkeypatch):
    roce(tree, "mlx5_0", state="1: DOWN")
    listed(monkeypatch, "mlx5_0")
    assert found(tree).why_not == "mlx5_0:1: port state is DOWN (is the cable connected, and eth0 up?)"


def test_iwarp_is_left_out(tree, monkeypatch):
    tree.device("siw0", node_type="4: RNIC")
    tree.port("siw0", gids=gids(), link_layer="Ethernet")
    listed(monkeypatch, "siw0")
    assert "iWARP needs rdma_cm" in found(tree).why_not


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (
            {"NCCL_IB_ADDR_RANGE": "192.168.0.0/16"},
            "no entry with RoCE v2, IPv4 in NCCL_IB_ADDR_RANGE: NCCL keeps this one",
        ),
        ({"NCCL_IB_ADDR_RANGE": "10.77.0.0/16"}, ""),
        ({}, ""),
    ],
)
def test_gids_that_are_not_as_wished_are_told_with_those_that_are_there(tree, monkeypatch, wish, words):
    roce(tree, "mlx5_0")
    listed(monkeypatch, "mlx5_0")
    got = found(tree, wish)
    assert got.devices
    assert bool(got.remarks) == bool(words)
    assert all(words in remark and "3 (10.77.0.1, RoCE v2)" in remark for remark in got.remarks)


def test_a_plugins_name_is_told(tree, monkeypatch):
    roce(tree, "mlx5_0")
    listed(monkeypatch, "mlx5_0")
    got = found(tree, {"NCCL_NET": "RoCE"})
    assert got.expected
    assert got.why_not == "disabled by NCCL_NET=RoCE (a plugin: NCCL's own are IB and Socket)"
    assert not found(tree, {"NCCL_NET": "Socket"}).expected


def test_too_little_memory_to_lock_is_told_with_what_it_takes(tree, monkeypatch):
    roce(tree, "mlx5_0")
    listed(monkeypatch, "mlx5_0")
    why = found(tree, memlock=64 * KIB).why_not
    assert "can lock 64 KiB" in why
    assert "ulimit -l unlimited" in why
    assert found(tree, memlock=64 << 20).devices
    assert found(tree, memlock=64 * KIB, capabilities=1 << 14).devices  # CAP_IPC_LOCK
    assert found(tree, {"NCCL_BUFFSIZE": "16384"}, memlock=512 * KIB).devices
    assert not found(tree, {"NCCL_BUFFSIZE": "16384"}, memlock=256 * KIB).devices  # cells for short messages
