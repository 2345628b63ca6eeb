# SPDX-License-Identifier: Apache-2.0
"""Faults planted in links are the ones that the picture marks, that the JSON and `check` report, and that `topo lint`
finds in the machine's topology file as far as a file can know.
"""

import random
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from tests.topo.findings.node import cases
from tests.topo.findings.node.cases import PCI, WORSE, capture, findings

from railgauge.topo.facts.capture import CaptureReader
from railgauge.topo.facts.described.build import build
from railgauge.topo.findings.node.effect import Prices
from railgauge.topo.findings.topology_file.rules import lint
from railgauge.topo.machine import inspected, recorded
from railgauge.topo.nccl.graph.model import NodeKind
from railgauge.topo.render.picture.from_system import picture
from railgauge.topo.render.topology import system_document
from railgauge.topo.xml import topology_file

FIXTURES = sorted(file.parent.name for file in Path(__file__).parents[2].glob("fixtures/*/*.t*"))
OF_LINKS = ("pcie-link-degraded", "pcie-bridge-bogus", "nvlink-missing")
BUS_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
MANY = 200
HEAD = """
[host]
name = "random"
kernel = "6.8.0"
driver = "570.1"
cpu = {{ vendor = "GenuineIntel", family = 6, model = 143, name = "Xeon" }}
[numa]
0 = "0-7"
1 = "8-15"
[port]
id = "8086:352a"
link = "32.0 x16"
[switch.pex]
id = "10b5:{switch}"
link = "32.0 x16"
[gpu.card]
name = "H100"
id = "10de:2330"
link = "{gpu}"
sm = 90
[nic.rail]
id = "15b3:1021"
link = "{nic}"
rdma = "mlx5_{{n}}"
netdev = "en{{domain}}p{{bus}}s{{slot}}f{{function}}"
rate = "{rate}"
address = "10.0.{{i}}.1"
"""


def described(rng):
    """A random machine: roots with or without a switch, GPUs and NICs below each, of one or two functions."""
    roots = [f"{bus:02x}" for bus in range(0x10, 0xF0, 0x20)][: rng.randint(1, 7)]
    nic, rate = rng.choice([("32.0 x16", "400"), ("16.0 x16", "200"), ("32.0 x8", "200"), ("16.0 x8", "100")])
    gpu = rng.choice(["32.0 x16", "16.0 x16"])
    text = HEAD.format(switch=rng.choice(["8747", "8796"]), gpu=gpu, nic=nic, rate=f"{rate} Gb/sec")
    gpus, nics, switched = rng.randint(1, 2), rng.randint(0, 2), rng.random() < 0.6
    way = "+0:01.0 +1:00.0 +2:{0:02x}.0 +{1:x}:00.{2}" if switched else "+0:{0:02x}.0 +{1:x}:00.{2}"
    cards = [way.format(n + 1, n + 3, 0) for n in range(gpus)]
    rails = [
        way.format(n + 9, n + 9, function) for n in range(nics) for function in range(rng.randint(1, 2) if n else 1)
    ]
    numa = [n % 2 for n in range(len(roots))]
    text += f"[[pci]]\nroot = {roots}\nnuma = {numa}\n" + ('switch = "pex"\n' if switched else "")
    text += f"card = {cards}\n" + (f"rail = {rails}\n" if rails else "")
    count, wires = gpus * len(roots), rng.choice(["none", "switch", "mesh"])
    if wires == "switch":
        text += "[[nvlink]]\nswitches = { unseen = [18] }\n"
    elif wires == "mesh" and 1 < count <= 8:
        pairs = ", ".join(f"{a}-{b} = 2" for a in range(count) for b in range(a + 1, count))
        text += f"[[nvlink]]\npairs = {{ {pairs} }}\n"
    return build(text.replace("'", '"').encode(), "machine.toml")


@pytest.fixture(autouse=True)
def _no_predictions(monkeypatch):
    """What a fault costs takes searches for channels, and is not asked here."""
    monkeypatch.setattr(Prices, "loss", lambda *_, **__: "")


def slot(bus_id):
    return bus_id.rpartition(".")[0]


class Plan:
    """Faults in a machine: what to change, what has one (cards), and what of that its topology file shows."""

    def __init__(self, rng, there):
        self.rng, self.there = rng, there
        self.files, self.facts = {}, {}
        self.planted, self.filed = set(), set()

    @cache  # noqa: B019
    def groups(self):
        """The drawn cards of each model with a link that sysfs tells, as lists of their functions."""
        drawn = {node.bus_id for node in self.there.system.nodes if node.kind is not NodeKind.GPU}
        found = defaultdict(lambda: defaultdict(list))
        for one in self.there.facts.pci:
            link = one.link
            if one.bus_id in drawn and not one.physfn and link.lanes and link.max_lanes and link.lanes >= 4:
                found[one.vendor, one.device][slot(one.bus_id)].append(one)
        return [list(cards.values()) for cards in found.values()]

    def plant(self):
        for cards in self.groups():
            kind = self.rng.choice(["none", "lanes", "lanes", "slot", "older", "slow", "rest"])
            if kind != "none":
                self._pci(kind, cards)
        self._nvlinks()
        return self

    def _pci(self, kind, cards):
        is_gpu = (cards[0][0].pci_class or "").startswith("0x03")
        fewer = self._some(cards) if kind == "lanes" else (len(cards) - 1) // 2
        if kind == "rest" and is_gpu:
            for functions in self.rng.sample(cards, self.rng.randint(1, len(cards))):
                self._write(functions, {"current_link_speed": "2.5 GT/s PCIe"})
        elif fewer > 0 and kind in ("lanes", "slot", "older", "slow") and not (kind == "slow" and is_gpu):
            for functions in self.rng.sample(cards, self.rng.randint(1, fewer)):
                self._fault(kind, functions)

    def _some(self, cards):
        """How many may have fewer lanes: not all of several, and none where the machine has no other device."""
        nodes = [node for node in self.there.system.nodes if node.kind in (NodeKind.DEV, NodeKind.NIC)]
        return len(cards) - 1 or int(len({slot(node.bus_id) for node in nodes if node.bus_id}) > 1)

    def _fault(self, kind, functions):
        link = functions[0].link
        half, older = str(link.lanes // 2), f"{(link.gt_per_s or 8.0) / 2:.1f} GT/s PCIe"
        changes = {
            "lanes": {"current_link_width": half},
            "slot": {"current_link_width": half, "max_link_width": half},
            "older": {"current_link_speed": older, "max_link_speed": older},
            "slow": {"current_link_speed": older},
        }[kind]
        self._write(self.rng.choice([functions, functions[:1], functions[-1:]]), changes)
        self.planted.add(slot(functions[0].bus_id))
        if "max_link_width" in changes or "max_link_speed" in changes:
            self.filed.add(slot(functions[0].bus_id))

    def _write(self, functions, changes):
        for one in functions:
            self.files |= {f"{PCI}/{one.bus_id}/{name}": text for name, text in changes.items()}

    def _nvlinks(self):
        gpus = self.there.facts.gpus
        wired = [n for n, gpu in enumerate(gpus) if any(link.usable for link in gpu.links)]
        fewer = (len(wired) - 1) // 4 if self._meshed() else (len(wired) - 1) // 2
        if fewer < 1 or self.rng.random() < 0.4:
            return
        for n in self.rng.sample(wired, self.rng.randint(1, fewer)):
            up = [number for number, link in enumerate(gpus[n].links) if link.usable]
            for number in self.rng.sample(up, self.rng.randint(1, len(up))):
                self.facts[f"nvml.gpus.{n}.links.{number}.state"] = 0
            self.planted.add(slot(gpus[n].bus_id))
            self.filed.add(slot(gpus[n].bus_id))

    def _meshed(self):
        return any(link.remote_kind == "gpu" for gpu in self.there.facts.gpus for link in gpu.links)


def marked(one):
    """The cards that the picture marks."""
    drawing = picture(one.system, one.topology, one.facts)
    nodes = {node.id: node.bus_id for node in one.system.nodes}
    return subjects((nodes[part.id], fault) for part in drawing.parts() for fault in part.faults)


def in_json(one):
    nodes = system_document(one.system, one.topology, one.facts)["nodes"]
    return subjects((node.get("bus_id"), fault) for node in nodes for fault in node.get("faults", ()))


def subjects(faults):
    """The cards of (bus id, fault): a switch that NCCL counts as part of another is named in the text."""
    return {slot(found[0] if (found := BUS_ID.match(text)) else bus_id) for bus_id, text in faults}


def alarmed(found):
    return {slot(one.subject) for one in found if WORSE.index(one.level) >= WORSE.index("WARN")}


def checked(one):
    return alarmed(finding for identifier in OF_LINKS for finding in findings(identifier, one))


def linted(one):
    found = lint(inspected(topology_file.dumps(one.topology).encode(), "topo.xml"))
    return alarmed(finding for finding in found if finding.id in (*OF_LINKS, "nvlink-one-sided"))


def judged(one):
    return {"picture": marked(one), "json": in_json(one), "check": checked(one)}


def case_of(recording, plan=None):
    files, facts = (plan.files, plan.facts) if plan else ({}, {})
    return recorded(CaptureReader(cases.with_changes(recording, files=files, facts=facts)))


def agree(recording, seed):
    plan = Plan(random.Random(seed), case_of(recording)).plant()
    one = case_of(recording, plan)
    assert judged(one) == dict.fromkeys(("picture", "json", "check"), plan.planted)
    assert linted(one) == plan.filed


@pytest.mark.parametrize("name", FIXTURES)
def test_as_it_is_all_views_of_a_fixture_agree(name):
    one = case_of(capture(name))
    views = judged(one)
    assert len(set(map(frozenset, views.values()))) == 1, views
    assert linted(one) <= views["check"]


def test_the_speed_of_a_gpu_at_rest_is_held_against_it_nowhere():
    gpu = f"{PCI}/0000:1b:00.0"
    files = {f"{gpu}/current_link_width": "8", f"{gpu}/current_link_speed": "2.5 GT/s PCIe"}
    one = cases.case("dgx-h100", files=files)
    (drawn,) = (part for part in picture(one.system, one.topology, one.facts).parts() if part.faults)
    found = lint(inspected(topology_file.dumps(one.topology).encode(), "topo.xml", one))
    assert drawn.up.note == (
        "PCI now x8 Gen5 · 24 GB/s; NCCL plans with 48 GB/s (x16 Gen5); runs x8 Gen5, both ends support x16 Gen5"
    )
    assert [(one.message, one.effect) for one in found if one.id == "pcie-link-degraded"] == [
        ("its link is x16 Gen5 in the file, and runs x8 Gen5 on the machine", "48 -> 24 GB/s for this device")
    ]


def test_a_file_with_an_unknown_width_has_no_word_that_all_is_as_expected():
    text = topology_file.dumps(cases.case("dgx-h100").topology)
    head, end = text.split('<pci busid="0000:1b:00.0"')
    file = cases.file_case(head + '<pci busid="0000:1b:00.0"' + end.replace('link_width="16"', 'link_width="0"', 1))
    (found,) = findings("pcie-link-degraded", file)
    assert found.message == "current link width unknown (topology file only)"


def test_a_card_that_can_do_less_than_its_twins_is_described_alike():
    gpu = f"{PCI}/0000:1b:00.0"
    one = cases.case("dgx-h100", files={f"{gpu}/current_link_width": "8", f"{gpu}/max_link_width": "8"})
    (found,) = findings("pcie-link-degraded", one)
    drawn = {fault for part in picture(one.system, one.topology, one.facts).parts() for fault in part.faults}
    assert drawn == {"7 of 8 such devices have x16 Gen5"}
    assert found.message.endswith(*drawn)


@pytest.mark.parametrize("name", [name for name in FIXTURES if not name.startswith(("dgx-h100-n", "h200x4"))])
def test_faults_in_a_fixture_are_seen_alike(name):
    for seed in range(5):
        agree(capture(name), seed)


@pytest.mark.parametrize("start", range(0, MANY, 20))
def test_faults_in_random_machines_are_seen_alike(start):
    for seed in range(start, start + 20):
        agree(described(random.Random(seed)), seed)
