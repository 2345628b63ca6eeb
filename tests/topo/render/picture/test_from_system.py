# SPDX-License-Identifier: Apache-2.0
"""The words of a picture: titles, facts and wires, with names where a machine or a capture tells them."""

import pytest
from tests.topo.findings.node.cases import case
from tests.topo.nvlinks_down import with_nvlinks_down
from tests.topo.render.picture.random_pictures import drawn
from tests.topo.small_machines import C2C, SWITCHED, gpu, net, nic, nvlink, pci, switch, topology

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.model import LinkKind
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.render.picture.facts import cores_text
from railgauge.topo.render.picture.from_system import picture
from railgauge.topo.render.picture.layout import lay_out
from railgauge.topo.render.picture.parts import Picture
from railgauge.topo.xml import topology_file


def fixture(name: str) -> Picture:
    machine = load_machine(name)
    return picture(build_system(machine.topology), machine.topology, MachineFacts(machine.reader), name=name)


def part(drawing: Picture, title: str):
    return next(one for one in drawing.parts() if one.title == title)


def test_a_gpu_of_an_xml_has_the_name_of_its_family():
    one = part(drawn(topology(gpu("0000:01:00.0", 0, SWITCHED + C2C, sm=100), vendor="arm64")), "GPU0")
    assert one.facts == (
        ("model", "Blackwell · sm 100"),
        ("bus id", "0000:01:00.0"),
        ("link", "x16 Gen4 · 24 GB/s"),
        ("NVLink", "NV18 · 722 GB/s"),
        ("C2C", "C2C · 447 GB/s"),
    )


def test_a_capture_tells_models_and_link_layers():
    drawing = fixture("@dgx-h100-nic-x8")
    assert dict(part(drawing, "GPU0").facts)["model"] == "H100 80GB HBM3"
    assert dict(part(drawing, "NIC0").facts)["port"] == "mlx5_0 · 400 Gb/s IB"
    assert dict(part(drawing, "NUMA 0").facts)["CPU"] == "Intel Xeon Platinum 8480C"


def test_a_degraded_link_is_marked_in_its_part_and_its_wire():
    one = part(fixture("@dgx-h100-nic-x8"), "NIC0")
    assert ("problem", "⚠ runs x8 of x16") in one.facts
    assert one.faults == ("runs x8 Gen5, both ends support x16 Gen5",)
    assert one.up is not None
    assert one.up.problem == "runs x8 Gen5, both ends support x16 Gen5"


def test_a_gpu_short_of_nvlinks_is_marked_with_its_wire():
    drawing = fixture("@dgx-h100-nvlink-down")
    faulty = [one for one in drawing.parts() if one.faults]
    assert [(one.title, one.faults) for one in faulty] == [("GPU2", ("17 of 18 NVLinks are up",))]
    assert [wire.ends[0] for wire in drawing.wires if wire.problem] == [faulty[0].id]


def test_a_gpu_short_of_nvlinks_is_known_by_its_twins_in_an_xml():
    links = (SWITCHED, SWITCHED.replace("18", "12"), SWITCHED)
    cards = "".join(gpu(f"0000:0{i + 1}:00.0", i, text, sm=90) for i, text in enumerate(links))
    assert [one.faults for one in drawn(topology(cards)).cpus[0].below] == [(), ("12 of 18 NVLinks are up",), ()]


def test_an_nvlink_of_a_mesh_that_one_gpu_lacks_is_marked_with_its_wire(tmp_path):
    machine = with_nvlinks_down(tmp_path, "a100-4gpu", [0], 1)
    drawing = picture(build_system(machine.topology), machine.topology, machine.facts)
    assert [(one.title, one.faults) for one in drawing.parts() if one.faults] == [
        ("GPU0", ("11 of 12 NVLinks are up",))
    ]
    assert [wire.label for wire in drawing.wires if wire.problem] == ["NV3"]
    assert [stroke.label for stroke in lay_out(drawing).strokes if stroke.bad and stroke.label] == ["NV3"]


def test_a_switch_that_nccl_counts_as_part_of_another_is_marked_there():
    """The inner switches of the DGX H100 are Broadcom's second level."""
    machine = case("dgx-h100", files={"/sys/bus/pci/devices/0000:19:00.0/current_link_width": "8"})
    drawing = picture(build_system(machine.topology), machine.topology, machine.facts)
    (one,) = (one for one in drawing.parts() if one.faults)
    assert (one.id, one.faults) == ("PCI/0-16000", ("0000:19:00.0: runs x8 Gen5, both ends support x16 Gen5",))


def test_gpus_that_lost_all_nvlinks_are_marked(tmp_path):
    machine = with_nvlinks_down(tmp_path, "dgx-h100", range(8), 18)
    drawing = picture(build_system(machine.topology), machine.topology, machine.facts)
    faulty = [one for one in drawing.parts() if one.faults]
    assert [one.title for one in faulty] == [f"GPU{i}" for i in range(8)]
    assert {one.faults for one in faulty} == {("0 of 18 NVLinks are up",)}


def test_bridges_between_gpus_need_not_use_all_links():
    pair = [gpu("0000:01:00.0", 0, nvlink("0000:02:00.0", 4)), gpu("0000:02:00.0", 1, nvlink("0000:01:00.0", 4))]
    drawing = drawn(topology("".join(pair) + gpu("0000:03:00.0", 2)))
    assert not any(one.faults for one in drawing.parts())


def test_a_card_with_two_ports_is_one_part():
    card = pci("0000:01:00.0", "0x020000", (net(0) + net(1)).replace("</nic><nic>", ""))
    one = part(drawn(topology(card)), "NIC0, NIC1")
    assert [text for what, text in one.facts if what == "port"] == ["mlx5_0 · 200 Gb/s", "mlx5_1 · 200 Gb/s"]


def test_a_virtual_nic_has_no_pci_figures():
    one = part(drawn(topology(net(0))), "NIC0")
    assert ("bus id", "virtual") in one.facts
    assert "link" not in dict(one.facts)


def test_every_nvlink_pair_is_one_wire():
    pair = [gpu("0000:01:00.0", 0, nvlink("0000:02:00.0", 4)), gpu("0000:02:00.0", 1, nvlink("0000:01:00.0", 4))]
    wires = [wire for wire in drawn(topology(*pair)).wires if wire.kind is LinkKind.NVL]
    assert [(wire.ends, wire.label) for wire in wires] == [(("DEV/0-1000", "DEV/0-2000"), "NV4")]


def test_linked_switches_say_so():
    link = '<pcilink target="0000:{}:00.0"/>'
    pair = [switch("0000:01:00.0", link.format("02")), switch("0000:02:00.0", link.format("01"))]
    texts = [
        dict(one.facts).get("linked") for one in drawn(topology("".join(pair))).parts() if one.title == "PCIe switch"
    ]
    assert texts == ["linked to 0000:02:00.0", "linked to 0000:01:00.0"]


def test_host_ranks_take_their_place():
    described = topology(nic("0000:01:00.0", 0))
    drawing = picture(build_system(described, host_ranks=3), described)
    assert [one.title for one in drawing.parts() if one.kind == "HOST"] == ["RANK0", "RANK1", "RANK2"]


def test_two_hosts_are_told_apart():
    cpus = "".join(f'<cpu host_hash="0x{i}" numaid="0">{gpu("0000:01:00.0", 0, rank=i - 1)}</cpu>' for i in (1, 2))
    drawing = drawn(topology_file.loads(f'<system version="1">{cpus}</system>'))
    assert [cpu.host for cpu in drawing.cpus] == [0, 1]
    assert drawing.subtitle == "2 GPUs · 2 NUMA nodes · 2 hosts"


@pytest.mark.parametrize(
    ("cpus", "text"),
    [((), ""), ((0, 1, 2), "cores 0-2"), (tuple(range(0, 64, 2)), "32 cores")],
)
def test_long_core_lists_are_counted(cpus, text):
    assert cores_text(cpus) == text
