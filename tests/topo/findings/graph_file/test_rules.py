# SPDX-License-Identifier: Apache-2.0
"""Each rule about graph files finds what it is for, on its line, and nothing in a healthy file."""

import re

import pytest

from railgauge.topo.channels import graph_file
from railgauge.topo.channels.graph import Policy
from railgauge.topo.errors import InputError, UnavailableError
from railgauge.topo.findings.cards.graph_file import GRAPH_SOUND
from railgauge.topo.findings.graph_file import graph_file_faulty, total
from railgauge.topo.findings.graph_file.graph_file import read
from railgauge.topo.findings.graph_file.rules import RULES, lint
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.settings.steering import Steering
from railgauge.topo.predict.search import search
from railgauge.topo.xml import topology_file

SYSTEM = build_system(load_machine("@h200x4").topology)
DGX = build_system(load_machine("@dgx-a100").topology)
ALONE = graph_file.dumps(search(SYSTEM, policy=Policy.NCCL), SYSTEM)
LEAVING = graph_file.dumps(search(DGX, nodes=2, policy=Policy.NCCL), DGX)
GPU3, GPU2 = '<gpu dev="0x3"/>', '<gpu dev="0x2"/>'


def findings(tmp_path, text, system=SYSTEM, **options):
    path = tmp_path / "graph.txt"
    path.write_text(text)
    return lint(read(str(path), system, **({"steering": Steering()} | options)))


def edited(old, new, text=ALONE):
    assert old in text
    return text.replace(old, new, 1)


PAIRS = 'crossnic="2" nchannels="11"'
ELEVEN = edited(ALONE[ALONE.index("    <channel>") : ALONE.index("</channel>") + 11], "")
CASES = {
    "header": ("graph-nccl-cannot-read", "FAIL", 1, edited("<graphs", '<?xml version="1.0"?><graphs')),
    "attribute": ("graph-attribute-missing", "FAIL", 2, edited(' crossnic="0"', "")),
    "number": ("graph-attribute-missing", "FAIL", 2, edited('samechannels="1"', 'samechannels="yes"')),
    "dev": ("graph-attribute-missing", "FAIL", 7, edited(GPU3, "<gpu/>")),
    "no-tree": ("graph-absent", "WARN", None, ALONE[: ALONE.index('  <graph id="1"')] + "</graphs>"),
    "two-rings": ("graph-absent", "WARN", 76, edited('id="1"', 'id="0"')),
    "more-said": ("graph-channel-count", "FAIL", 2, edited('nchannels="12"', 'nchannels="13"')),
    "fewer-said": ("graph-channel-count", "WARN", 2, edited('nchannels="12"', 'nchannels="11"')),
    "too-many": ("graph-channel-count", "FAIL", 2, edited('nchannels="12"', 'nchannels="33"')),
    "unknown-gpu": ("graph-gpu-unknown", "FAIL", 7, edited(GPU3, '<gpu dev="0x9"/>')),
    "decimal-gpu": ("graph-gpu-unknown", "FAIL", 7, edited(GPU3, '<gpu dev="13"/>')),
    "repeated": ("graph-gpu-repeated", "FAIL", 7, edited(GPU3, GPU2)),
    "missing": ("graph-gpu-missing", "FAIL", 3, edited(f"      {GPU3}\n", "")),
    "rank": ("graph-gpu-rank", "WARN", 7, edited(GPU3, '<gpu dev="0x3" rank="2"/>')),
    "nic": ("graph-nic-unknown", "FAIL", 7, edited(GPU3, f'{GPU3}<net dev="0x7"/>')),
    "one-nic": ("graph-channel-open", "FAIL", 3, edited(GPU3, f'{GPU3}<net dev="0"/>')),
    "zero": ("graph-speed-wrong", "FAIL", 2, edited('speedintra="30"', 'speedintra="0"')),
    "nan": ("graph-speed-wrong", "FAIL", 2, edited('speedintra="30"', 'speedintra="nan"')),
    "negative": ("graph-speed-wrong", "FAIL", 2, edited('speedinter="30"', 'speedinter="-30"')),
    "infinite": ("graph-speed-wrong", "FAIL", 2, edited('speedinter="30"', 'speedinter="inf"')),
    "c2c": ("graph-type-unknown", "FAIL", 2, edited('typeintra="NVL"', 'typeintra="C2C"')),
    "nearer": ("graph-type-differs", "WARN", 2, edited('typeintra="NVL"', 'typeintra="LOC"')),
    "overloaded": ("graph-link-overloaded", "WARN", 2, edited('speedintra="30"', 'speedintra="40"')),
    "far-overloaded": ("graph-link-overloaded", "FAIL", 2, edited('speedintra="30"', 'speedintra="80"')),
    "unpaired": ("graph-crossnic", "WARN", 2, edited('crossnic="0" nchannels="12"', PAIRS, ELEVEN)),
    "same": ("graph-samechannels", "WARN", 2, edited(f"{GPU2}\n      {GPU3}", f"{GPU3}\n      {GPU2}")),
    "ring-pattern": ("graph-file-faulty", "FAIL", 2, edited('pattern="4"', 'pattern="77"')),
    "tree-pattern": ("graph-file-faulty", "FAIL", 76, edited('id="1" pattern="1"', 'id="1" pattern="4"')),
    "version": ("graph-file-faulty", "FAIL", 1, edited('<graphs version="1"', '<graphs version="2"')),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "level", "line", "text"), CASES.values(), ids=CASES)
def test_rule_finds_what_it_is_for(tmp_path, rule, level, line, text):
    found = findings(tmp_path, text)
    match = [f for f in found if f.id == rule and f.line == line]
    assert match, [(f.id, f.line, f.message) for f in found]
    assert str(match[0].level) == level
    assert match[0].remedy
    assert match[0].path == str(tmp_path / "graph.txt")
    assert GRAPH_SOUND.id not in {f.id for f in found}


def test_every_rule_has_a_case_and_gives_only_its_levels():
    rules = {rule.id: rule for rule in (*RULES, graph_file_faulty.RULE)}
    assert set(rules) == {case[0] for case in CASES.values()}
    for rule, level, _, _ in CASES.values():
        assert level in {str(one) for one in rules[rule].card.levels}


@pytest.mark.parametrize(("text", "system"), [(ALONE, SYSTEM), (LEAVING, DGX)], ids=["alone", "leaving"])
def test_a_healthy_file_passes_and_says_what_it_reaches(tmp_path, text, system):
    found = findings(tmp_path, text, system)
    assert {str(f.level) for f in found} == {"PASS", "INFO"}
    reached = [f for f in found if f.id == total.RULE.id]
    assert [f.subject for f in reached] == ["ring", "tree"]
    assert reached[0].evidence["gb_per_s"] >= reached[0].evidence["nccl_gb_per_s"] > 0


def test_channels_of_several_nodes_need_nics(tmp_path):
    found = findings(tmp_path, ALONE, nodes=2)
    assert {f.id for f in found if str(f.level) == "FAIL"} == {"graph-channel-open"}


def test_a_graph_that_crosses_nics_is_passed_over_under_nccl_cross_nic_0(tmp_path):
    crossing = re.sub('crossnic="0"', 'crossnic="1"', LEAVING, count=1)
    ids = {f.id: f for f in findings(tmp_path, crossing, DGX, steering=Steering(cross_nic=0))}
    assert "NCCL searches channels of its own" in ids["graph-crossnic"].effect
    assert "graph-crossnic" not in {f.id for f in findings(tmp_path, crossing, DGX)}


def test_a_channel_that_crosses_nics_unsaid_is_told(tmp_path):
    crossing = edited('<net dev="0"/>\n    </channel>', '<net dev="0x1"/>\n    </channel>', LEAVING)
    assert "graph-crossnic" in {f.id for f in findings(tmp_path, crossing, DGX)}


def test_an_overloaded_link_is_named_with_what_it_carries(tmp_path):
    found = [f for f in findings(tmp_path, CASES["overloaded"][3]) if f.id == "graph-link-overloaded"]
    assert found[0].evidence["gb_per_s"] == pytest.approx(480)
    assert found[0].evidence["capacity_gb_per_s"] == pytest.approx(370.8)
    assert "NVS/0-0" in found[0].message
    assert len(found) == 1  # the ports of all GPUs, in and out, are alike


def test_the_total_of_an_overloaded_graph_is_what_its_links_carry(tmp_path):
    reached = next(f for f in findings(tmp_path, CASES["overloaded"][3]) if f.id == total.RULE.id)
    assert reached.evidence["gb_per_s"] == pytest.approx(480)
    assert reached.evidence["carried_gb_per_s"] == pytest.approx(370.8)
    assert "of which the links carry 370.8" in reached.message


@pytest.mark.parametrize(
    "text", [edited('nchannels="12"', 'nchannels="0"'), edited('nchannels="12"', 'nchannels="11"')]
)
def test_a_count_that_is_too_small_is_one_finding(tmp_path, text):
    assert [f.id for f in findings(tmp_path, text)] == ["graph-channel-count"]


def test_what_is_the_same_of_several_channels_is_told_once(tmp_path):
    ring, tree = ALONE[: ALONE.index('  <graph id="1"')], ALONE[ALONE.index('  <graph id="1"') :]
    lines = ring.splitlines(keepends=True)
    first = lines.index(f"      {GPU3}\n") + 1
    found = [f for f in findings(tmp_path, ring.replace(GPU3, GPU2) + tree) if str(f.level) == "FAIL"]
    assert [(f.id, f.subject, f.line) for f in found] == [
        ("graph-gpu-missing", "ring channels 0-11", 3),
        ("graph-gpu-repeated", "ring channels 0-11", first),
    ]
    assert found[0].evidence == {"channels": list(range(12)), "missing": [3]}


@pytest.mark.parametrize("text", ["", "<graphs", "<system version='1'/>", "\0", "<graphs version='1'><a:b/></graphs>"])
def test_what_is_no_graph_file_is_refused(tmp_path, text):
    with pytest.raises(InputError):
        findings(tmp_path, text)


def test_a_machine_without_gpus_fits_no_graph(tmp_path):
    with pytest.raises(UnavailableError):
        findings(tmp_path, ALONE, build_system(load_machine("@laptop").topology))


def test_a_node_that_nccl_splits_has_channels_of_its_part(tmp_path):
    split = build_system(load_machine("@pcie-switch").topology)
    found = findings(tmp_path, graph_file.dumps(search(split), split), split)
    assert {str(f.level) for f in found} == {"PASS", "INFO"}


def test_whether_a_link_of_unknown_width_is_overloaded_stays_unknown(tmp_path):
    xml = topology_file.dumps(load_machine("@pcie-no-switch").topology)
    sure, unsure = (
        build_system(topology_file.loads(text)) for text in (xml, xml.replace('link_width="16"', 'link_width="0"'))
    )
    text = graph_file.dumps(search(sure, policy=Policy.NCCL), sure)
    text = re.sub(r'speedintra="[0-9.]+"', 'speedintra="90"', text)
    first, second = (
        {
            str(f.level)
            for f in findings(tmp_path, text, one)
            if f.id == "graph-link-overloaded" and " PCI " in f.message
        }
        for one in (sure, unsure)
    )
    assert ("FAIL" in first, second) == (True, {"UNKNOWN"})
