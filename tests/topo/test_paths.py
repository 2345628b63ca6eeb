# SPDX-License-Identifier: Apache-2.0
"""Paths: types, hops and bandwidths of known machines, and what must hold for all of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.topo import bandwidth, xml
from railgauge.topo.machine import load_machine
from railgauge.topo.merged_nics import merge_nics
from railgauge.topo.model import NodeKind
from railgauge.topo.paths import paths, plain_paths
from railgauge.topo.system import build_system


def pci(bus: str, kind: str, inside: str, device: str = "") -> str:
    return f'<pci busid="{bus}" class="{kind}" {device} link_speed="16.0 GT/s PCIe" link_width="16">{inside}</pci>'


def gpu(bus: str, dev: int, inside: str = "") -> str:
    return pci(bus, "0x030200", f'<gpu dev="{dev}" sm="80" rank="{dev}" gdr="1">{inside}</gpu>')


def nic(bus: str, dev: int) -> str:
    net = f'<nic><net name="mlx5_{dev}" dev="{dev}" speed="200000" port="1" guid="0x{dev + 1}" gdr="1"/></nic>'
    return pci(bus, "0x020000", net)


def machine(*cpus: str, vendor: str = "GenuineIntel"):
    facts = f'arch="x86_64" vendor="{vendor}" familyid="6" modelid="143"'
    body = "".join(f'<cpu numaid="{i}" {facts}>{inside}</cpu>' for i, inside in enumerate(cpus))
    return build_system(xml.loads(f'<system version="1">{body}</system>'))


def switch(bus: str, *inside: str, device: str = "") -> str:
    return pci(bus, "0x060400", "".join(inside), device)


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
    wire = '<nvlink target="0000:{}:00.0" count="1" tclass="0x030200"/>'
    system = machine(
        switch("0000:10:00.0", gpu("0000:11:00.0", 0), nic("0000:12:00.0", 0)),
        gpu("0000:41:00.0", 1, wire.format("11")),
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
    topology = xml.loads(text)
    assert [net.id for net in build_system(topology).nets] == ["NET/0-0", "NET/0-1"]
    system = build_system(merge_nics(topology))
    assert [(net.id, net.name) for net in system.nets] == [("NET/0-2", "mlx5_0+mlx5_1")]
    assert paths(system).get("GPU/0-11000", "NET/0-2").gb_per_s == 24.0
    assert xml.dumps(merge_nics(merge_nics(topology))) == xml.dumps(merge_nics(topology))


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


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from(["gpu", "nic", "switch"]), max_size=5), min_size=1, max_size=4))
def test_plain_paths_are_the_same_both_ways(layout):
    system = machine(*generated(layout))
    table = plain_paths(system)
    ends = [node.id for node in (*system.gpus, *system.nets)]
    for a in ends:
        for b in ends:
            there, back = table.get(a, b), table.get(b, a)
            assert (there.type, there.hops, there.gb_per_s) == (back.type, back.hops, back.gb_per_s)
            assert there.type != "DIS"
            assert there.gb_per_s <= min([link.gb_per_s for link in there.links], default=5000.0)


def generated(layout: list[list[str]]) -> list[str]:
    cpus, counts = [], {"gpu": 0, "nic": 0}
    for c, parts in enumerate(layout):
        body = ""
        for i, part in enumerate(parts):
            bus = f"0000:{c + 1:x}{i:x}:00.0"
            if part == "switch":
                body = switch(f"000{c + 1}:f{i:x}:00.0", body) if body else ""
            else:
                body += (gpu if part == "gpu" else nic)(bus, counts[part])
                counts[part] += 1
        cpus.append(body)
    return cpus
