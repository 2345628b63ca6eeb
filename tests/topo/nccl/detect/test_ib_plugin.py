# SPDX-License-Identifier: Apache-2.0
"""What NCCL's IB plugin makes of RDMA devices: which ports, order, port numbers, GUIDs, merged cards."""

import re
from pathlib import Path

import pytest
from tests import golden_answers
from tests.topo.rdma_tree import ROCE, RdmaTree

from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice, RdmaPort
from railgauge.topo.facts.sources.verbs import Verbs, VerbsDevice
from railgauge.topo.nccl.detect.ib_plugin import (
    IbSettings,
    card_path,
    guid_number,
    merged,
    nccl_ports,
    passed_over,
    read_ib_settings,
)

DUMPED = (
    "real_ibm-vpc-h100",
    "real_oci-H100-topology",
    "real_yccl-topo_l20",
    "real_yynil-2x4090-epyc-nps4-cx4",
    "real_nccl2397-nodeA-2xA100pcie-cx6dx-x8",
    "real_nccl2397-nodeB-2xA100pcie-cx6dx-x16",
    "dgx-h100",
)
"""By NCCL, and the last by us."""
NOT_ASKED = Verbs(reason="not asked")


@pytest.fixture
def tree(tmp_path):
    return RdmaTree(tmp_path)


def names(tree: RdmaTree, verbs: Verbs = NOT_ASKED, **environment: str) -> list[str]:
    ports = nccl_ports(tree.read(), read_ib_settings(environment), verbs)
    return [f"{port.name}:{port.port}" for port in ports]


def dual_port(tree: RdmaTree, bus: str, *devices: str) -> None:
    for function, name in enumerate(devices):
        tree.device(name, f"0000:{bus}:00.{function}")
        tree.port(name)


@pytest.mark.parametrize(
    ("guid", "want"),
    [
        ("e8eb:d303:0055:ad78", 0x78AD550003D3EBE8),  # as NCCL dumped it on a machine with that card
        ("0000:0000:0000:0001", 0x0100000000000000),
        ("0000:0000:0000:0000", 0),
        (None, 0),
        ("no guid", 0),
    ],
)
def test_the_guid_is_read_in_host_byte_order(guid, want):
    assert guid_number(guid) == want


def test_ports_come_by_pci_address_not_by_name(tree):
    for name, bus in (("mlx5_0", "9a"), ("mlx5_1", "1a"), ("mlx5_10", "3c")):
        tree.device(name, f"0000:{bus}:00.0")
        tree.port(name)
    assert names(tree) == ["mlx5_1:1", "mlx5_10:1", "mlx5_0:1"]


def test_without_pci_order_the_list_of_libibverbs_counts_then_natural_order(tree):
    for name in ("mlx5_0", "mlx5_10", "mlx5_2"):
        tree.device(name, f"0000:{name[5:]:0>2}:00.0")
        tree.port(name)
    listed = Verbs(devices=tuple(VerbsDevice(name=name) for name in ("mlx5_2", "mlx5_0", "mlx5_10")))
    assert names(tree, NCCL_IB_DEVICE_PCI_ORDER="0") == ["mlx5_0:1", "mlx5_2:1", "mlx5_10:1"]
    assert names(tree, listed, NCCL_IB_DEVICE_PCI_ORDER="0") == ["mlx5_2:1", "mlx5_0:1", "mlx5_10:1"]


def test_software_devices_come_last(tree):
    tree.device("a_rxe0")
    tree.port("a_rxe0", **ROCE)
    dual_port(tree, "18", "mlx5_0")
    assert names(tree) == ["mlx5_0:1", "a_rxe0:1"]


def test_functions_of_one_card_count_their_ports_through(tree):
    dual_port(tree, "18", "mlx5_0", "mlx5_1")
    dual_port(tree, "2a", "mlx5_2")
    assert names(tree) == ["mlx5_0:1", "mlx5_1:2", "mlx5_2:1"]


def test_a_port_that_is_left_out_is_not_counted(tree):
    dual_port(tree, "18", "mlx5_0", "mlx5_1")
    assert names(tree, NCCL_IB_HCA="mlx5_1") == ["mlx5_1:1"]


@pytest.mark.parametrize(
    ("path", "merge_vfs", "want"),
    [
        ("/sys/devices/pci0000:16/0000:18:00.1", True, "/sys/devices/pci0000:16/0000:18:00.0"),
        ("/sys/devices/pci0000:16/0000:18:02.3", True, "/sys/devices/pci0000:16/0000:18:00.0"),
        ("/sys/devices/pci0000:16/0000:18:02.3", False, "/sys/devices/pci0000:16/0000:18:02.0"),
        ("/sys/devices/pci0000:00/0000:00:03.0/virtio3", True, "/sys/devices/pci0000:00/0000:00:03.0/vir00o0"),
        (None, True, None),
    ],
)
def test_the_card_of_a_function(path, merge_vfs, want):
    assert card_path(path, merge_vfs) == want


def test_nics_of_a_flat_virtual_machine_become_ports_of_one_card(tree):
    """All functions sit on bus 0: with virtual functions merged, NCCL takes them for one card."""
    for number in (5, 6):
        tree.device(f"mlx5_{number}", f"0000:00:{number:02x}.0")
        tree.port(f"mlx5_{number}")
    assert names(tree) == ["mlx5_5:1", "mlx5_6:2"]
    assert names(tree, NCCL_IB_MERGE_VFS="0") == ["mlx5_5:1", "mlx5_6:1"]


@pytest.mark.parametrize(
    ("port", "environment", "why"),
    [
        ({"state": "DOWN"}, {}, "port state is DOWN"),
        ({"state": "INIT"}, {}, "port state is INIT"),
        ({"state": None}, {}, "port state unknown"),
        ({"link_layer": "Unknown"}, {}, "link layer is Unknown"),
        ({"link_layer": None}, {}, "link layer is unknown"),
        ({}, {"NCCL_IB_HCA": "^mlx5_0"}, "excluded by NCCL_IB_HCA"),
        ({}, {}, None),
    ],
)
def test_why_a_port_is_passed_over(port, environment, why):
    one = RdmaPort(**{"number": 1, "state": "ACTIVE", "link_layer": "InfiniBand", **port})
    assert passed_over(RdmaDevice(name="mlx5_0"), one, read_ib_settings(environment), NOT_ASKED) == why


def test_devices_that_libibverbs_cannot_open_are_passed_over():
    device, port = RdmaDevice(name="mlx5_0"), RdmaPort(number=1, state="ACTIVE", link_layer="InfiniBand")
    unlisted = Verbs(devices=())
    shut = Verbs(devices=(VerbsDevice(name="mlx5_0", error="Permission denied"),))
    assert passed_over(device, port, IbSettings(), unlisted) == "not listed by libibverbs"
    assert passed_over(device, port, IbSettings(), shut) == "libibverbs cannot open it: Permission denied"


def test_what_libibverbs_tells_is_added(tree):
    dual_port(tree, "18", "mlx5_0")
    verbs = Verbs(devices=(VerbsDevice(name="mlx5_0", max_qp=131072, dma_buf=True),))
    (port,) = nccl_ports(tree.read(), IbSettings(), verbs)
    assert (port.max_qp, port.dma_buf, port.speed_mbps, port.bus_id) == (131072, True, 400000, "0000:18:00.0")
    (port,) = nccl_ports(tree.read(), IbSettings(), NOT_ASKED)
    assert (port.max_qp, port.dma_buf) == (None, None)


def test_rail_and_plane_of_the_setting(tree):
    dual_port(tree, "18", "mlx5_0", "mlx5_1")
    ports = nccl_ports(tree.read(), read_ib_settings({"NCCL_IB_HCA": "mlx5_0:1:3,mlx5_1:1::2"}), NOT_ASKED)
    assert [(port.rail, port.plane) for port in ports] == [(3, None), (None, 2)]


def cards(tree: RdmaTree, **environment: str) -> list[str]:
    settings = read_ib_settings(environment)
    return ["+".join(p.name for p in nic) for nic in merged(nccl_ports(tree.read(), settings, NOT_ASKED), settings)]


def test_ports_of_one_card_are_merged(tree):
    dual_port(tree, "18", "mlx5_0", "mlx5_1")
    dual_port(tree, "2a", "mlx5_2")
    assert cards(tree) == ["mlx5_0+mlx5_1", "mlx5_2"]
    assert cards(tree, NCCL_IB_MERGE_NICS="0") == ["mlx5_0", "mlx5_1", "mlx5_2"]


def test_at_most_four_ports_are_merged(tree):
    dual_port(tree, "18", *(f"mlx5_{number}" for number in range(6)))
    assert cards(tree) == ["mlx5_0+mlx5_1+mlx5_2+mlx5_3", "mlx5_4+mlx5_5"]


def test_ports_of_unlike_link_layers_stay_apart(tree):
    dual_port(tree, "18", "mlx5_0", "mlx5_1")
    tree.device("mlx5_2", "0000:18:00.2")
    tree.port("mlx5_2", **ROCE)
    assert cards(tree) == ["mlx5_0", "mlx5_1", "mlx5_2"]


def dumped(file: Path) -> list[dict[str, str]]:
    """The RDMA <net>s of a file that NCCL wrote, by dev, each with the bus id of its card."""
    nets, bus_id = [], ""
    for tag, attributes in re.findall(r"<(pci|net) ([^>]*)>", golden_answers.read(file)["topo"]):
        found = dict(re.findall(r'(\w+)="([^"]*)"', attributes))
        bus_id = found.get("busid", bus_id)
        if tag == "net":
            nets.append({**found, "busid": bus_id})
    return sorted(nets, key=lambda net: int(net["dev"]))


def pytest_generate_tests(metafunc):
    if "golden" in metafunc.fixturenames:
        metafunc.parametrize("golden", golden_answers.named(metafunc.config, *DUMPED), ids=lambda path: path.stem)


def test_dev_port_guid_and_card_are_those_that_nccl_dumped(tree, golden):
    """Built from a dump: a card's second port is its function 1. The dumps are older than sorting by PCI address."""
    nets = dumped(golden)
    for net in reversed(nets):
        guid = int(net["guid"], 16).to_bytes(8, "little").hex(":", 2)
        tree.device(net["name"], f"{net['busid'][:-1]}{int(net['port']) - 1}", sys_image_guid=guid)
        tree.port(net["name"], rate=f"{int(net['speed']) / 1000:g} Gb/sec (4X NDR)")
    ports = nccl_ports(tree.read(), read_ib_settings({"NCCL_IB_DEVICE_PCI_ORDER": "0"}), NOT_ASKED)
    ours = [(p.name, str(p.port), f"{p.guid:#x}", str(p.speed_mbps), p.bus_id) for p in ports]
    assert ours == [(net["name"], net["port"], net["guid"], net["speed"], net["busid"]) for net in nets]
