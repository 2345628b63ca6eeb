# SPDX-License-Identifier: Apache-2.0
"""The NVLinks of hwloc's exports are those that its matrix NVLinkBandwidth sums up."""

from pathlib import Path

import pytest
from tests.topo.facts.pasted.test_read import facts, machine

from railgauge.topo.facts.pasted.read import read
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.model import LinkKind

SAMPLES = Path(__file__).parents[5] / "shared" / "samples"
X86 = {"CPUVendor": "GenuineIntel", "CPUFamilyNumber": "6", "CPUModelNumber": "143"}
POWER = {"CPUModel": "POWER8NVL, altivec supported"}
HERE = 1_000_000  # hwloc's MB/s from an object to itself


def infos(found):
    return "".join(f'<info name="{name}" value="{value}"/>' for name, value in found.items())


def gpu(number, model):
    osdev = f'<object type="OSDev" gp_index="{800 + number}" name="nvml{number}">{infos({"GPUModel": model})}</object>'
    return pci(100 + number, number + 1, "0302 [10de:1db8]", osdev)


def pci(gp_index, bus, kind, inside=""):
    start = f'<object type="PCIDev" gp_index="{gp_index}" pci_busid="0000:{bus:02x}:00.0" pci_type="{kind}">'
    return f"{start}{inside}</object>"


def export(devices, distances, cpu=X86):
    """As lstopo of hwloc 3 writes it."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="3.0">'
        f'<object type="Package" gp_index="3" cpuset="0xff" nodeset="0x1">{infos(cpu)}'
        '<object type="NUMANode" os_index="0" cpuset="0xff" nodeset="0x1"/>'
        f'<object type="Bridge" gp_index="5" bridge_pci="0000:[00-7f]">{devices}</object></object>'
        f"{distances}{infos({'HostName': 'node9'})}</topology>"
    )


def matrix(ends, rows, *, element="distances2hetero", more=""):
    """Values stand in lines of ten, as hwloc writes them."""
    words = [str(value) for row in rows for value in row]
    lines = [" ".join(words[at : at + 10]) for at in range(0, len(words), 10)]
    values = "".join(f'<u64values length="{len(line) + 1}">{line} </u64values>\n' for line in lines)
    indexes = f'<indexes length="9">{" ".join(ends)} </indexes>'
    return f'<{element} {more} nbobjs="{len(ends)}" kind="25" name="NVLinkBandwidth">{indexes}{values}</{element}>'


def assumed(text):
    return read([("topo.xml", text.encode())]).manifest["assumed"]


def links(text):
    return [dict(one.nvlinks) for one in facts(text).gpus]


def test_links_between_gpus():
    four = "".join(gpu(number, "NVIDIA A100-SXM4-40GB") for number in range(4))
    rows = [[HERE if a == b else 100_000 for b in range(4)] for a in range(4)]
    text = export(
        four, matrix(["800", "801", "802", "803"], rows, element="distances2", more='type="OSDev" indexing="gp"')
    )
    buses = [f"0000:0{number}:00.0" for number in range(1, 5)]
    assert links(text) == [{other: 4 for other in buses if other != bus} for bus in buses]
    assert machine(text).host == "node9"
    assert "NVLinks are not said: GPUs are shown without" not in assumed(text)


def test_links_through_switches():
    two = "".join(gpu(number, "Tesla V100-SXM3-32GB") for number in range(2))
    switches = "".join(pci(449 + number, 0x60 + number, "0680 [10de:1ac2]") for number in range(6))
    ends = ["OSDev:800", "OSDev:801", *(f"PCIDev:{449 + number}" for number in range(6))]
    rows = [[0, 0, *[25_000] * 6], [0, 0, *[25_000] * 6], *[[25_000, 25_000, *[0] * 6]] * 6]
    text = export(two + switches, matrix(ends, rows))
    assert links(text) == [{f"0000:6{number}:00.0": 1 for number in range(6)}] * 2
    assert (
        machine(text).topology.text.count('tclass="0x068000"') == 12
        if hasattr(machine(text).topology, "text")
        else True
    )


def test_links_to_a_processor():
    two = "".join(gpu(number, "Tesla P100-SXM2-16GB") for number in range(2))
    rows = [[HERE, 40_000, 40_000], [40_000, HERE, 40_000], [40_000, 40_000, HERE]]
    system = machine(export(two, matrix(["OSDev:800", "OSDev:801", "Package:3"], rows), POWER)).system
    to_cpu = [link.target for link in system.links if link.kind is LinkKind.NVL and link.source.startswith("CPU/")]
    assert len(to_cpu) == 2


MODELS = {"Tesla P100-SXM2-16GB": 4, "NVIDIA H100 80GB HBM3": 4, "NVIDIA B200": 2}


@pytest.mark.parametrize("model", MODELS)
def test_the_speed_of_a_link_is_that_of_its_generation(model):
    two = "".join(gpu(number, model) for number in range(2))
    between = 80_000 if "P100" in model else 100_000
    text = export(two, matrix(["OSDev:800", "OSDev:801"], [[HERE, between], [between, HERE]]))
    assert links(text)[0] == {"0000:02:00.0": MODELS[model]}


@pytest.mark.parametrize("rows", [[], [[HERE, 1]], [["x", "y"], ["0", "-1"]], [[10**30, 1], [1, 1]]])
def test_a_matrix_that_is_not_square_says_nothing(rows):
    two = "".join(gpu(number, "NVIDIA A100-SXM4-40GB") for number in range(2))
    text = export(two, matrix(["OSDev:800", "OSDev:801"], rows))
    assert links(text) == [{}, {}]
    assert "NVLinks are not said: GPUs are shown without" in assumed(text)


@pytest.mark.parametrize(("name", "each"), [("nvidiaDGX2", [6] * 16), ("power8gpudistances", [4] * 4)])
def test_exports_of_hwlocs_own_tests(name, each):
    file = SAMPLES / f"hwloc-{name}.xml"
    if not file.is_file():
        pytest.skip("the sample is not at hand")
    assert [sum(dict(one.nvlinks).values()) for one in load_machine(str(file)).facts.gpus] == each
