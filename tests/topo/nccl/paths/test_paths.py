# SPDX-License-Identifier: Apache-2.0
"""Paths: types, hops and bandwidths of known machines."""

import pytest
from tests.topo.small_machines import SWITCHED, gpu, hosts, machine, net, nic, nvlink, pci, switch

from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.detect.merged_nics import merge_nics
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.nccl.graph.model import NodeKind
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.levels import read_levels
from railgauge.topo.xml import topology_file

TWO_SOCKETS = (
    switch("0000:10:00.0", gpu("0000:11:00.0", 0), nic("0000:12:00.0", 0)),
    switch("0000:80:00.0", gpu("0000:81:00.0", 1), nic("0000:82:00.0", 1)),
)


def test_h200x4_is_as_nccl_logs_it():
    table = paths(build_system(load_machine("@h200x4").topology))
    near = table.get("GPU/0-60", "GPU/0-70")
    assert (near.type, near.hops, round(near.gb_per_s, 3)) == ("NVL", 4, 370.8)
    assert near.via == ("DEV/0-60", "NVS/0-0", "DEV/0-70", "GPU/0-70")
    far = table.get("GPU/0-60", "NET/0-0")
    assert (far.type, far.hops, far.gb_per_s) == ("PHB", 4, 1.25)


def test_one_switch_is_pix_and_two_are_pxb():
    table = paths(
        machine(switch("0000:10:00.0", gpu("0000:11:00.0", 0), switch("0000:13:00.0", nic("0000:14:00.0", 0))))
    )
    assert table.get("GPU/0-11000", "NET/0-0").type == "PXB"
    table = paths(machine(*TWO_SOCKETS))
    assert table.get("GPU/0-11000", "NET/0-0").type == "PIX"
    assert table.get("GPU/0-11000", "NET/0-1").type == "SYS"


def test_broadcom_switches_are_flattened_by_exact_ids_only():
    ids = 'vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x{}"'
    for below, kind in (("1000", "PIX"), ("2000", "PXB")):
        inner = switch("0000:13:00.0", nic("0000:14:00.0", 0), device=ids.format(below))
        outer = switch("0000:10:00.0", gpu("0000:11:00.0", 0), inner, device=ids.format("0000"))
        assert paths(machine(outer)).get("GPU/0-11000", "NET/0-0").type == kind


def test_peers_on_two_sockets_go_over_the_cpu_wire():
    path = paths(machine(*TWO_SOCKETS)).get("GPU/0-11000", "GPU/0-81000")
    assert (path.gb_per_s, "CPU/0-1" in path.via) == (22.0, True)


def test_no_p2p_goes_through_the_cpu():
    system = machine(switch("0000:10:00.0", gpu("0000:11:00.0", 0), gpu("0000:12:00.0", 1)))
    assert paths(system).get("GPU/0-11000", "GPU/0-12000").type == "PIX"
    path = paths(system, p2p=False).get("GPU/0-11000", "GPU/0-12000")
    assert (path.type, "CPU/0-0" in path.via) == ("PHB", True)


def test_the_network_splits_a_node_where_it_is_faster():
    system = machine(
        switch("0000:10:00.0", gpu("0000:11:00.0", 0), nic("0000:12:00.0", 0)),
        gpu("0000:41:00.0", 1, nvlink("0000:11:00.0")),
        switch("0000:80:00.0", gpu("0000:81:00.0", 2), nic("0000:82:00.0", 1)),
    )
    table = paths(system)
    assert table.get("GPU/0-11000", "GPU/0-81000").type == "NET"
    assert "GPU/0-11000" in table.kept
    assert len(table.kept) < 3


def test_nodes_are_numbered_as_nccl_fuses_them():
    """Rank 0's GPU and all NICs come first, then the branches of the later ranks."""
    system = machine(gpu("0000:11:00.0", 0), gpu("0000:41:00.0", 1), switch("0000:80:00.0", nic("0000:82:00.0", 0)))
    assert [cpu.id for cpu in system.kind(NodeKind.CPU)] == ["CPU/0-0", "CPU/0-2", "CPU/0-1"]


def test_ports_of_a_card_become_one_nic():
    port = '<net name="mlx5_{0}" dev="{0}" speed="100000" port="{1}" guid="0x1" gdr="1"/>'
    card = pci("0000:12:00.0", "0x020000", "<nic>" + port.format(0, 1) + port.format(1, 2) + "</nic>")
    text = f'<system version="1"><cpu numaid="0">{switch("0000:10:00.0", gpu("0000:11:00.0", 0), card)}</cpu></system>'
    topology = topology_file.loads(text)
    assert [net.id for net in build_system(topology).nets] == ["NET/0-0", "NET/0-1"]
    system = build_system(merge_nics(topology))
    assert [(net.id, net.name) for net in system.nets] == [("NET/0-2", "mlx5_0+mlx5_1")]
    assert paths(system).get("GPU/0-11000", "NET/0-2").gb_per_s == 24.0
    assert topology_file.dumps(merge_nics(merge_nics(topology))) == topology_file.dumps(merge_nics(topology))


def test_power_cpus_are_reached_over_nvlink():
    bridge = '<nvlink target="0000:00:00.0" count="2" tclass="0x068001"/>'
    system = machine(gpu("0000:11:00.0", 0, bridge, sm=70), gpu("0000:81:00.0", 1, bridge, sm=70), vendor="ppc64")
    table = paths(system)
    assert (table.get("GPU/0-11000", "CPU/0-0").type, table.get("GPU/0-11000", "CPU/0-0").gb_per_s) == ("NVL", 40.0)
    far = table.get("GPU/0-11000", "GPU/0-81000")
    assert (far.type, far.gb_per_s, far.via[1:3]) == ("SYS", 32.0, ("CPU/0-0", "CPU/0-1"))


def test_linked_switches_are_one_way_more():
    def linked(bus: str, peer: str, inside: str) -> str:
        return switch(bus, inside, f'<pcilink target="{peer}"/>')

    near = linked("0000:10:00.0", "0000:20:00.0", gpu("0000:11:00.0", 0))
    path = paths(machine(near, linked("0000:20:00.0", "0000:10:00.0", gpu("0000:21:00.0", 1))))
    assert path.get("GPU/0-11000", "GPU/0-21000").type == "PXB"
    path = paths(machine(near, switch("0000:20:00.0", gpu("0000:21:00.0", 1))))
    assert path.get("GPU/0-11000", "GPU/0-21000").type == "SYS"


def test_no_path_is_dis():
    assert paths(machine(*TWO_SOCKETS)).get("GPU/0-11000", "GPU/0-99000").type == "DIS"


@pytest.mark.parametrize(
    ("speed", "lanes", "want"),
    [
        ("16.0 GT/s PCIe", 16, 24.0),
        ("16.0 GT/s", 16, 12.0),
        ("32 GT/s PCIe/s", 16, 48.0),
        ("64 GT/s", 16, 12.0),
        ("", 0, 12.0),
        ("Unknown", 8, 6.0),
        ("2.5 GT/s PCIe", 1, 0.1875),
    ],
)
def test_pci_speeds_are_read_as_nccl_reads_them(speed, lanes, want):
    assert bandwidth.pci(speed, lanes) == want


@pytest.mark.parametrize(("sm", "want"), [(60, 18), (70, 20), (80, 20), (86, 12), (89, 20), (90, 20.6), (100, 40.1)])
def test_nvlink_speeds(sm, want):
    assert bandwidth.nvlink(sm) == want


@pytest.mark.parametrize(
    ("family", "model", "want"), [(6, 79, 6), (6, 85, 10), (6, 143, 22), (6, 207, 40), (5, 207, 6)]
)
def test_wires_between_intel_cpus(family, model, want):
    assert bandwidth.between_cpus("x86_64", "GenuineIntel", family, model) == want


@pytest.mark.parametrize(
    ("arch", "vendor", "family", "model", "want"),
    [
        ("x86_64", "AuthenticAMD", 175, 17, 16),
        ("x86_64", "CentaurHauls", 7, 0x3B, 6),
        ("x86_64", "  Shanghai  ", 7, 0x5B, 9),
        ("x86_64", "Other", 6, 0xCF, 5000),
        ("arm64", None, 0, 0, 6),
        ("ppc64", None, 0, 0, 32),
        (None, None, 0, 0, 5000),
    ],
)
def test_wires_between_other_cpus(arch, vendor, family, model, want):
    assert bandwidth.between_cpus(arch, vendor, family, model) == want


def test_a_nic_without_a_pci_device_hangs_on_the_cpu():
    path = paths(machine(gpu("0000:11:00.0", 0) + net(0))).get("GPU/0-11000", "NET/0-0")
    assert (path.type, path.via) == ("PHB", ("DEV/0-11000", "CPU/0-0", "NIC/0-0", "NET/0-0"))


def test_two_ranks_on_one_gpu_are_local_whatever_the_driver_says():
    one = '<gpu dev="0" sm="90" rank="{}" gdr="1"/>'
    system = machine(pci("0000:11:00.0", "0x030200", one.format(0) + one.format(1)))
    assert paths(system, p2p=False).get(system.gpus[0].id, system.gpus[1].id).type == "LOC"


def test_the_nvlinks_of_one_fabric_reach_another_host():
    one, other = gpu("0000:11:00.0", 0, SWITCHED, rank=0), gpu("0000:11:00.0", 0, SWITCHED, rank=1)
    table = paths(hosts(one, other))
    assert table.get("GPU/0-11000", "GPU/1-11000").type == "NVL"
    assert len(table.kept) == 2


def test_hosts_without_a_fabric_are_cut_apart():
    table = paths(hosts(gpu("0000:11:00.0", 0, rank=0), gpu("0000:11:00.0", 0, rank=1)))
    assert table.get("GPU/0-11000", "GPU/1-11000").type == "NET"
    assert table.kept == ("GPU/0-11000",)


def test_hosts_go_by_the_number_of_their_hash():
    text = '<system version="1">{}</system>'.format(
        "".join(f'<cpu host_hash="{text}" numaid="{i}"/>' for i, text in enumerate(("0xA", "0x0a", "b", "0xZ", "0xZ")))
    )
    assert [cpu.system for cpu in build_system(topology_file.loads(text)).kind(NodeKind.CPU)] == [0, 0, 1, 2, 2]


@pytest.mark.parametrize("inside", ["", gpu("0000:11:00.0", 0), net(0)])
def test_a_machine_with_hardly_anything_has_paths(inside):
    system = machine(inside)
    rows = list(paths(system))
    assert len(rows) == len(system.gpus + system.nets) * (len(system.gpus + system.nets) + 1)


def test_a_one_sided_nvlink_is_no_way():
    system = machine(gpu("0000:11:00.0", 0, nvlink("0000:12:00.0")) + gpu("0000:12:00.0", 1))
    assert paths(system).get("GPU/0-11000", "GPU/0-12000").type == "PHB"


def test_nvlink_over_another_gpu_is_nvb_until_it_is_switched_off():
    wires = nvlink("0000:12:00.0"), nvlink("0000:11:00.0") + nvlink("0000:13:00.0"), nvlink("0000:12:00.0")
    system = machine("".join(gpu(f"0000:1{i + 1}:00.0", i, wire) for i, wire in enumerate(wires)))
    path = paths(system).get("GPU/0-11000", "GPU/0-13000")
    assert (path.type, path.hops, path.via[1]) == ("NVB", 4, "DEV/0-12000")
    levels = read_levels({"NCCL_NVB_DISABLE": "1"})
    assert paths(system, levels=levels).get("GPU/0-11000", "GPU/0-13000").type == "PHB"
