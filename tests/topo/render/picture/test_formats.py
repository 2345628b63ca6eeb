# SPDX-License-Identifier: Apache-2.0
"""SVG, DOT, JSON and HTML of some machines as expected, well-formed, self-contained, and safe with any name."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from tests.topo.render.picture.random_pictures import topologies
from tests.topo.small_machines import C2C, SWITCHED, gpu, net, nic, nvlink, switch, topology

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.render.matrix import matrix
from railgauge.topo.render.picture import dot, page, svg
from railgauge.topo.render.picture.from_system import picture
from railgauge.topo.render.picture.layout import lay_out
from railgauge.topo.render.topology import system_document
from railgauge.topo.xml import topology_file

EXPECTED = Path(__file__).parent / "expected"
DOCS = Path(__file__).parents[4] / "docs" / "pictures"
SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "br", "path", "rect"}
HOSTILE = '"><script>alert(1)</script>&\\n'


def mesh():
    """Four GPUs and two NICs below two switches, every GPU linked to every other."""
    buses = [f"0000:{i:02x}:00.0" for i in (1, 2, 4, 5)]
    links = ["".join(nvlink(bus, 2) for bus in buses if bus != own) for own in buses]
    gpus = [gpu(bus, i, links[i]) for i, bus in enumerate(buses)]
    halves = (
        switch("0000:10:00.0", *gpus[:2], nic("0000:03:00.0", 0)),
        switch("0000:11:00.0", *gpus[2:], nic("0000:06:00.0", 1)),
    )
    return topology("".join(halves))


def superchip():
    """Two sockets of a GPU with chip-to-chip link and NVSwitch, and a NIC each; one is faster than its link."""
    cpus = []
    for i in range(2):
        below = switch(f"000{i}:01:00.0", gpu(f"000{i}:02:00.0", i, SWITCHED + C2C, sm=100))
        cpus.append(below + nic(f"000{i}:03:00.0", i, mbps=200_000 * (i + 1)))
    return topology(*cpus, vendor="arm64")


H200 = load_machine("@h200x4")
MACHINES = {
    "mesh": (mesh(), None),
    "superchip": (superchip(), None),
    "h200x4": (H200.topology, MachineFacts(H200.reader)),
}


def svg_of(described, inventory=None, title="test"):
    return svg.dumps(lay_out(picture(build_system(described), described, inventory, name=title)))


def dot_of(described, inventory=None, title="test"):
    return dot.dumps(picture(build_system(described), described, inventory, name=title))


def page_of(described, inventory=None, title="test"):
    system = build_system(described)
    drawn = picture(system, described, inventory, name=title)
    return page.dumps(drawn, matrix(system, described, inventory), ["a warning"])


def json_of(described, inventory=None, title="test"):
    return json.dumps(system_document(build_system(described), described, inventory), indent=1) + "\n"


@pytest.mark.parametrize(("suffix", "text_of"), [("svg", svg_of), ("dot", dot_of), ("json", json_of)])
@pytest.mark.parametrize("name", MACHINES)
def test_files_are_the_expected_ones(name, suffix, text_of, expect):
    expect(EXPECTED / f"{name}.{suffix}", text_of(*MACHINES[name], title=name))


@pytest.mark.parametrize("name", ["dgx-1v", "dgx-h100-nic-x8"])
def test_pictures_of_the_docs_are_what_the_tool_draws(name, expect):
    one = load_machine(f"@{name}")
    drawing = picture(one.system, one.topology, one.facts, name=one.host)
    expect(DOCS / f"{name}.svg", svg.dumps(lay_out(drawing)))


@settings(deadline=None, max_examples=20)
@given(topologies())
def test_svg_of_any_machine_is_well_formed_and_has_every_part_once(described):
    root = ElementTree.fromstring(svg_of(described))
    drawn = picture(build_system(described), described)
    ids = [group.get("id") for group in root.iter(f"{SVG}g") if group.get("id")]
    assert sorted(ids) == sorted(part.id for part in drawn.parts())
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert all(any(part.title in text for text in texts) for part in drawn.parts())


def test_svg_is_readable_by_eyes_ears_and_in_the_dark():
    text = svg_of(mesh())
    root = ElementTree.fromstring(text)
    assert root.get("aria-labelledby") == "title desc"
    assert root.findtext(f"{SVG}title") == "test"
    assert root.findtext(f"{SVG}desc") == "4 GPUs · 2 NICs · 2 PCIe switches · 1 NUMA node"
    assert "prefers-color-scheme: dark" in text
    assert "var(" not in text


def test_a_fault_is_told_by_colour_dashes_and_words():
    root = ElementTree.fromstring(svg_of(superchip()))
    faulty = [element.get("class") for element in root.iter() if "faulty" in (element.get("class") or "")]
    assert sorted(faulty) == ["box NIC faulty", "wire PCI faulty", "wire PCI faulty"]  # one of them in the legend
    assert any("port is faster" in (span.text or "") for span in root.iter(f"{SVG}tspan"))


@pytest.mark.parametrize("text_of", [svg_of, page_of])
def test_nothing_is_loaded_from_anywhere(text_of):
    text = text_of(mesh()).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|@import|url\(|<script|<image|<link|xlink|src=", text)


def named(name: str):
    """A NIC of any name, as an XML may hold."""
    text = topology_file.dumps(topology(nic("0000:01:00.0", 0)))
    escaped = name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return topology_file.loads(text.replace('name="mlx5_0"', f'name="{escaped}"'))


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def test_page_is_balanced_and_hostile_names_are_only_text():
    tags = _Tags()
    tags.feed(page_of(named(HOSTILE), title=HOSTILE))
    assert tags.open == []
    assert "script" not in tags.seen
    ElementTree.fromstring(svg_of(named(HOSTILE), title=HOSTILE))


def test_control_characters_and_broken_names_leave_the_files_readable():
    broken = "a\x01\x1b[31m\udc80b"
    ElementTree.fromstring(svg_of(mesh(), title=broken))
    assert "a??[31m?b" in page_of(mesh(), title=broken)
    assert dot_of(mesh(), title=broken).encode()


def test_page_holds_picture_matrix_tables_and_warnings():
    text = page_of(superchip())
    assert all(part in text for part in ("<svg ", "<h2>GPUs</h2>", "<h2>NICs</h2>", "NV18", "<li>a warning</li>"))
    assert "carries 24 GB/s, a port of it 50" in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("described", [mesh(), superchip(), named(HOSTILE)], ids=["mesh", "superchip", "hostile"])
def test_graphviz_reads_it(described):
    done = subprocess.run(["dot", "-Tplain"], input=dot_of(described), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    nodes = [line for line in done.stdout.splitlines() if line.startswith("node ")]
    assert len(nodes) == len(picture(build_system(described), described).parts())


def test_json_has_all_nodes_links_and_limits():
    system = build_system(mesh())
    content = system_document(system, mesh())
    assert [node["id"] for node in content["nodes"]] == [node.id for node in system.nodes]
    assert len(content["links"]) == len(system.links)
    local = next(link for link in content["links"] if link["kind"] == "LOC")
    assert local["gb_per_s"] is None
    card = next(node for node in content["nodes"] if node["kind"] == "DEV")
    assert (card["pci"]["lanes"], card["pci"]["gt_per_s"], card["pci"]["gb_per_s"]) == (16, 16.0, 24.0)


def test_json_tells_what_is_wrong_where_it_is():
    nodes = system_document(build_system(superchip()), superchip())["nodes"]
    assert {node["id"]: node["faults"] for node in nodes if "faults" in node} == {
        "NIC/0-103000": ["carries 24 GB/s, a port of it 50"]
    }


def test_virtual_nics_have_no_place_on_pci():
    nodes = system_document(build_system(topology(net(0))), topology(net(0)))["nodes"]
    assert not any("pci" in node for node in nodes)
