# SPDX-License-Identifier: Apache-2.0
"""Each rule finds what it is for, on its line and with its figures, and says nothing of a healthy file."""

import pytest
from tests.topo.findings.topology_file.topology_text import HEALTHY, changed, findings

from railgauge.topo.findings.topology_file.rules import RULES
from railgauge.topo.findings.topology_file.topo_file_faulty import RULE as FAULTY
from railgauge.topo.machine import load_machine
from railgauge.topo.xml.topology_file import dumps

GPU0 = '<pci busid="0000:11:00.0" class="0x030200"'
GPU1 = '<pci busid="0000:81:00.0" class="0x030200"'
NIC1 = '<pci busid="0000:82:00.0" class="0x020000"'
SPEED = 'link_speed="32.0 GT/s PCIe"'
LINK0 = '<nvlink target="0000:81:00.0" count="4" tclass="0x030200"/>'
LINK1 = '<nvlink target="0000:11:00.0" count="4" tclass="0x030200"/>'
MASK0, MASK1 = 'affinity="00000000,0000ffff"', 'affinity="00000000,ffff0000"'
BRIDGE = f'<pci busid="0000:10:00.0" class="0x060400" {SPEED} link_width="16">'
AT_GPU0 = f'{GPU0} vendor="0x10de" device="0x2330" {SPEED} link_width="16">'
AT_NIC0 = f'<pci busid="0000:12:00.0" class="0x020000" {SPEED} link_width="16">'
CPU0, CPU1 = '<cpu numaid="0"', '<cpu numaid="1"'
NET1 = '<net name="mlx5_1" dev="1"'
SLOW = BRIDGE.replace("32.0", "2.5").replace("16", "1")
SWITCH_LINK = '<nvlink target="fffffff:ffff:ff" count="18" tclass="0x068000"/>'


def gpu0(speed):
    return [(AT_GPU0, AT_GPU0.replace("32.0 GT/s PCIe", speed))]


def nic0(width):
    return [(AT_NIC0, AT_NIC0.replace('"16"', f'"{width}"'))]


# rule, level, line, words of message and effect, what is changed
CASES = {
    "self": ("nvlink-self-target", "FAIL", 6, "82.4 GB/s", [("0000:81:00.0", "0000:11:00.0")]),
    "self-in-other-spelling": ("nvlink-self-target", "FAIL", 6, "82.4", [("0000:81:00.0", "00000000:11:00.0")]),
    "one-sided": ("nvlink-one-sided", "WARN", 6, "82.4 GB/s in one direction", [(LINK1, LINK1.replace("4", "2"))]),
    "none-back": ("nvlink-one-sided", "WARN", 6, "which has 0 back", [(LINK1, "")]),
    "high": ("nvlink-count-high", "WARN", 5, "at most 18", [(LINK0, LINK0.replace("4", "24"))]),
    "fewer": ("nvlink-missing", "FAIL", 19, "0 NVLinks", [(LINK0, SWITCH_LINK), (LINK1, ""), ("</system>", "{more}")]),
    "unknown-peer": ("nvlink-target-unknown", "INFO", 6, "0000:99:00.0", [("0000:81:00.0", "0000:99:00.0")]),
    "gpu-as-switch": ("nvlink-class-odd", "WARN", 6, "is a GPU", [(LINK0, LINK0.replace("0x030200", "0x068000"))]),
    "no-such-class": ("nvlink-class-odd", "WARN", 6, "'030200'", [(LINK0, LINK0.replace("0x030200", "030200"))]),
    "c2c": ("c2c-uneven", "WARN", 19, "300 GB/s", [(LINK0, LINK0 + '<c2c bw="60000" count="5"/>')]),
    "x1": ("pcie-bridge-bogus", "FAIL", 3, "48 -> 0.1875 GB/s", [(BRIDGE, SLOW)]),
    "no-space": ("link-speed-unknown", "WARN", 4, "instead of 24", gpu0("16.0 GT/s")),
    "gen6": ("link-speed-unknown", "WARN", 4, "12 GB/s instead of 96", gpu0("64 GT/s")),
    "gen3": ("link-speed-unknown", "INFO", 4, "counts Gen3", gpu0("8.0 GT/s")),
    "speedless": ("link-speed-unknown", "WARN", 4, "12 GB/s", gpu0("Unknown")),
    "speedless alone": ("link-speed-unknown", "INFO", 9, "12 GB/s", [(AT_NIC0, AT_NIC0.replace("32.0 GT/s PCIe", ""))]),
    "x0": ("link-width-unknown", "INFO", 9, "1 links without a width, counted as 16 lanes", nic0("0")),
    "x17": ("link-width-unknown", "WARN", 9, "not a PCIe width", nic0("17")),
    "narrow": ("pcie-link-degraded", "FAIL", 9, "50 -> 24 GB/s", nic0("8")),
    "overlap": ("affinity-mask-wrong", "WARN", 16, "shares cores 0-15 with numaid 0", [(MASK1, MASK0)]),
    "swapped": ("affinity-mask-wrong", "WARN", 16, "swapped?", [(MASK1, "{m}"), (MASK0, MASK1), ("{m}", MASK0)]),
    "empty": ("affinity-mask-wrong", "WARN", 2, "empty mask", [(MASK0, 'affinity="00000000"')]),
    "no-mask": ("affinity-mask-wrong", "WARN", 2, "not a CPU mask", [(MASK0, 'affinity="0-15"')]),
    "short": ("affinity-mask-wrong", "INFO", 16, "too short", [(CPU0, '<cpu numaid="15"'), (MASK1, MASK0)]),
    "arch": ("cpu-unknown", "WARN", 2, "5000 GB/s", [("x86_64", "amd64")]),
    "vendor": ("cpu-unknown", "WARN", 2, "5000 GB/s", [("GenuineIntel", "Intel")]),
    "numaid": ("numaid-duplicate", "FAIL", 16, "also on line 2", [(CPU1, CPU0)]),
    "hosts": ("several-hosts", "INFO", 16, "2 hosts", [(CPU1, f'{CPU1} host_hash="0x2"')]),
    "gpu-twice": ("busid-duplicate", "FAIL", 18, "also on line 4", [(GPU1, GPU0)]),
    "bridge-twice": ("busid-duplicate", "WARN", 17, "on line 3", [('busid="0000:80:00.0"', 'busid="0000:10:00.0"')]),
    "upper": ("busid-spelling", "FAIL", 23, "0000:8a:00.0", [('busid="0000:82', 'busid="0000:8A')]),
    "no-domain": ("busid-spelling", "FAIL", 23, "0000:82:00.0", [('busid="0000:82', 'busid="82')]),
    "no-bus-id": ("busid-spelling", "WARN", 17, "'bridge'", [('busid="0000:80:00.0"', 'busid="bridge"')]),
    "gpu-class": ("class-mismatch", "WARN", 4, "is not a GPU", [(GPU0, GPU0.replace("0x03", "0x06"))]),
    "nic-in-host-bridge": ("class-mismatch", "WARN", 23, "is a host bridge", [(NIC1, NIC1.replace("0x02", "0x06"))]),
    "class-form": ("class-mismatch", "WARN", 23, "'0200'", [(NIC1, NIC1.replace("0x020000", "0200"))]),
    "blind": ("class-mismatch", "FAIL", 3, "those devices are ignored", [(BRIDGE, BRIDGE.replace("0x0604", "0x0300"))]),
    "no-busid": ("attribute-missing", "FAIL", 3, "lacks busid", [('busid="0000:10:00.0" ', "")]),
    "no-numaid": ("attribute-missing", "FAIL", 16, "lacks numaid", [('numaid="1" ', "")]),
    "no-count": ("attribute-missing", "FAIL", 6, "Attribute count of node nvlink", [(' count="4"', "")]),
    "above-nic": ("attribute-missing", "FAIL", 16, "Attribute arch of node cpu", [(f'{MASK1} arch="x86_64"', MASK1)]),
    "completed": ("attribute-missing", "INFO", 5, "1 x <gpu> without sm, which NCCL takes", [(' sm="90"', "")]),
    "nameless": ("attribute-missing", "FAIL", 25, "never finds the NIC", [(NET1, '<net dev="1"')]),
    "misplaced": ("element-ignored", "WARN", 6, "<net> in <gpu>", [(LINK0, '<net name="a"/>')]),
    "second-nic": ("element-ignored", "WARN", 12, "NCCL takes the first one only", [("</nic>", "</nic><nic/>")]),
    "second-gpu": ("element-ignored", "WARN", 7, "NCCL before 2.30", [("</gpu>", '</gpu><gpu dev="2" sm="90"/>')]),
    "stranger": ("element-ignored", "INFO", 6, "<rack>", [(LINK0, f"<rack><cpu/></rack>{LINK0}")]),
    "colour": ("element-ignored", "INFO", 2, "colour='red'", [(CPU0, f'{CPU0} colour="red"')]),
    "rank": ("gpu-numbering", "WARN", 19, "rank 0 also at 0000:11:00.0", [('rank="1"', 'rank="0"')]),
    "dev": ("gpu-numbering", "WARN", 19, "dev 0 also at 0000:11:00.0", [('dev="1" sm', 'dev="0" sm')]),
    "gap": ("gpu-numbering", "INFO", 5, "the ranks are 0, 7", [('rank="1"', 'rank="7"')]),
    "net-dev": ("net-duplicate", "WARN", 25, "dev 0 also on line 11", [(NET1, '<net name="mlx5_1" dev="0"')]),
    "net-name": ("net-duplicate", "WARN", 25, "name mlx5_0 also on line 11", [(NET1, '<net name="mlx5_0" dev="1"')]),
    "net-speed": ("net-speed-unknown", "WARN", 11, "1.25 GB/s", [('speed="400000"', 'speed="-1"')]),
    "net-speedless": ("net-speed-unknown", "INFO", 11, "asks its network plugin", [('speed="400000" ', "")]),
    "header": ("nccl-cannot-read", "FAIL", 1, "XML header", [("<system", '<?xml version="1.0"?><system')]),
    "number": ("topo-file-faulty", "FAIL", 2, "not a number", [('modelid="143"', 'modelid="Xeon"')]),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "level", "line", "words", "changes"), CASES.values(), ids=CASES)
def test_rule_finds_what_it_is_for(tmp_path, rule, level, line, words, changes):
    text = changed(*changes).replace("{more}", two_more_gpus())
    found = [f for f in findings(tmp_path, text) if (f.id, f.line) == (rule, line)]
    assert [str(f.level) for f in found] == [level]
    assert words in f"{found[0].message} {found[0].effect}"
    assert found[0].remedy
    assert found[0].path == str(tmp_path / "topo.xml")


def two_more_gpus():
    gpu = (
        '<pci busid="0000:c{0}:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">'
        f'<gpu dev="{{1}}" sm="90" rank="{{1}}" gdr="1">{SWITCH_LINK}</gpu></pci>'
    )
    cpu = '<cpu numaid="2" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">'
    return f"{cpu}{gpu.format(1, 2)}{gpu.format(2, 3)}</cpu></system>"


def test_a_healthy_file_has_no_findings(tmp_path):
    assert findings(tmp_path, HEALTHY) == ()


def test_every_rule_that_needs_no_machine_has_a_case():
    needs_one = {
        "topo-file-stale",
        "device-misplaced",
        "nvlink-differs",
        "net-differs",
        "gpu-differs",
        "vm-flat-topology",
    }
    assert {rule.id for rule in (*RULES, FAULTY)} - needs_one == {case[0] for case in CASES.values()}


@pytest.mark.parametrize("rule", [*RULES, FAULTY], ids=lambda rule: rule.id)
def test_levels_of_a_rule_are_those_that_it_gives(rule):
    given = {case[1] for case in CASES.values() if case[0] == rule.id}
    assert given <= {str(level) for level in rule.card.levels}


def test_findings_come_in_the_order_of_lines_and_the_worst_first(tmp_path):
    found = findings(tmp_path, changed(('numaid="0"', 'numaid="1"'), ("x86_64", "amd64"), ('rank="1"', 'rank="0"')))
    assert [f.line for f in found] == sorted(f.line for f in found)
    assert [(f.id, f.line) for f in found][-2:] == [("numaid-duplicate", 16), ("gpu-numbering", 19)]


def test_of_two_gpus_at_nvswitches_that_differ_the_one_with_fewer_links_lacks_some(tmp_path):
    fewer = SWITCH_LINK.replace('"18"', '"12"')
    found = findings(tmp_path, changed((LINK0, SWITCH_LINK), (LINK1, fewer)))
    assert [f.evidence["count"] for f in found if f.id == "nvlink-missing"] == [12]


@pytest.mark.parametrize(("narrow", "told"), [(1, 1), (2, 0)])
def test_links_of_half_of_the_gpus_are_not_what_most_have(tmp_path, narrow, told):
    more = "".join(
        f'<pci busid="0000:c{number}:00.0" class="0x030200" vendor="0x10de" device="0x2330" '
        f'link_speed="32.0 GT/s PCIe" link_width="8"><gpu dev="{number}" sm="90" rank="{number}" gdr="1"/></pci>'
        for number in range(2, 2 + narrow)
    )
    found = findings(tmp_path, changed(("  </cpu>\n</system>", f"{more}  </cpu>\n</system>")))
    assert [f.id for f in found].count("pcie-link-degraded") == told


def test_nvlinks_to_a_gpu_that_is_not_there_are_told_at_the_first_and_counted_together(tmp_path):
    away = LINK0.replace("0000:81:00.0", "0000:c1:00.0"), LINK1.replace("0000:11:00.0", "0000:C1:00.0")
    [found] = [f for f in findings(tmp_path, changed((LINK0, away[0]), (LINK1, away[1]))) if "unknown" in f.id]
    assert (found.line, found.subject, found.evidence["lines"]) == (6, "0000:c1:00.0", [6, 20])
    assert found.message.startswith("8 NVLinks end at 0000:c1:00.0")


def test_a_slow_link_has_its_figures_in_the_evidence(tmp_path):
    [found] = [f for f in findings(tmp_path, changed(*nic0("8"))) if f.id == "pcie-link-degraded"]
    width, speeds = found.evidence["link_width"], (found.evidence["gb_per_s"], found.evidence["full_gb_per_s"])
    assert (width, speeds) == ("8", (24.0, 50.0))


def test_a_subset_of_hybrid_mesh_gpus_misses_no_nvlinks(tmp_path):
    """Two of three GPUs that are wired to each other have more links than the third: that is how DGX-1 is built."""
    third = (
        '<pci busid="0000:c1:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">'
        '<gpu dev="2" sm="90" rank="2" gdr="1"/></pci></cpu>\n</system>'
    )
    found = findings(tmp_path, changed(("  </cpu>\n</system>", third)))
    assert "nvlink-missing" not in {f.id for f in found}


@pytest.mark.parametrize(
    ("model", "sm", "told"),
    [("0x2330", "90", 2), ("0x2331", "90", 0), ("0x2330", "70", 0)],
    ids=["bridges", "another model", "DGX-1"],
)
def test_cards_in_pairs_have_as_many_nvlinks_in_each(tmp_path, model, sm, told):
    pairs = "".join(
        f'<pci busid="0000:{bus}:00.0" class="0x030200" vendor="0x10de" device="{model}" link_speed="32.0 GT/s PCIe" '
        f'link_width="16"><gpu dev="{number}" sm="{sm}" rank="{number}" gdr="1"><nvlink target="0000:{peer}:00.0" '
        'count="2" tclass="0x030200"/></gpu></pci>'
        for number, bus, peer in ((2, "c1", "d1"), (3, "d1", "c1"))
    )
    text = changed(("  </cpu>\n</system>", f"{pairs}  </cpu>\n</system>")).replace('sm="90"', f'sm="{sm}"')
    found = [f for f in findings(tmp_path, text) if f.id == "nvlink-missing"]
    assert len(found) == told
    assert all(f.message.endswith("2 NVLinks; others of this kind have 4") for f in found)


@pytest.mark.parametrize(
    ("numa", "width", "count", "link", "flat"),
    [
        ("-1", "0", 2, "", True),
        ("-1", "16", 2, SWITCH_LINK, True),
        ("-1", "16", 5, "", True),
        ("0", "16", 5, SWITCH_LINK, False),
        ("-1", "16", 2, "", False),
    ],
    ids=["no-width", "unseen-switch", "too-many", "numa-node", "workstation"],
)
def test_flat_virtual_machine_is_told_from_a_small_real_one(tmp_path, numa, width, count, link, flat):
    gpus = "".join(
        f'<pci busid="0000:00:0{i}.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="{width}">'
        f'<gpu dev="{i}" sm="90" rank="{i}" gdr="1">{link}</gpu></pci>'
        for i in range(count)
    )
    cpu = f'<cpu numaid="{numa}" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">'
    found = findings(tmp_path, f'<system version="1">{cpu}{gpus}</cpu></system>')
    assert ("vm-flat-topology" in {f.id for f in found}) == flat


def test_one_device_is_not_compared_with_others_of_its_model(tmp_path):
    slow = changed((AT_GPU0, AT_GPU0.replace("32.0", "16.0")))
    assert findings(tmp_path, slow) == ()  # two GPUs, two speeds: neither is usual


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('speed="400000"', 'speed="200000"', ("net-differs", "mlx5_0", "7 of 8 NICs of the model have 400000")),
        ('maxconn="131072" gdr="1"', 'gdr="0"', ("net-differs", "mlx5_0", "7 of 8 NICs of the model have 1")),
        ('rank="0" gdr="1"', 'gdr="0"', ("gpu-differs", "0000:1b:00.0", "7 of 8 GPUs of the model have 1")),
        ('gdr="1"', 'gdr="1"', None),  # storage NICs at 200 Gb/s are another model
    ],
)
def test_one_that_has_less_than_most_of_its_model_is_found_without_a_machine(tmp_path, old, new, found):
    text = dumps(load_machine("@dgx-h100").topology)
    assert old in text
    warned = [one for one in findings(tmp_path, text.replace(old, new, 1)) if one.level == "WARN"]
    assert [(one.id, one.subject) for one in warned] == ([found[:2]] if found else [])
    assert not found or found[2] in warned[0].message
