# SPDX-License-Identifier: Apache-2.0
"""Topology XML: exact round trip, unknown parts kept, and hostile files refused with a line."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.topo import xml
from railgauge.topo.channels import search
from railgauge.topo.errors import Error, InputError
from railgauge.topo.machine import load_machine
from railgauge.topo.system import build_system

SMALL = """\
<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143" color="blue">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" rank="0" gdr="1"/>
    </pci>
    <future thing="1"/>
  </cpu>
</system>
"""
BOMB = """\
<?xml version="1.0"?>
<!DOCTYPE lolz [
 <!ENTITY lol "lol">
 <!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">
]>
<system version="1"><cpu numaid="&lol2;"/></system>
"""
FILE = '<!DOCTYPE x [\n<!ENTITY f SYSTEM "file:///etc/passwd">]>\n<system version="1"><cpu numaid="&f;"/></system>\n'


def test_round_trip_keeps_what_it_does_not_know():
    assert xml.dumps(xml.loads(SMALL)) == SMALL


def test_lines_are_kept():
    topology = xml.loads(SMALL)
    assert topology.gpus[0].line == 4


def test_special_characters_survive():
    text = SMALL.replace("blue", "a&lt;b&quot;&amp;&gt;")
    assert xml.dumps(xml.loads(text)) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (BOMB, 2),
        (FILE, 1),
        (SMALL[:180], 3),
        ("", 1),
        ("<graphs version='1'/>", 1),
        ('<system version="2"><cpu numaid="0"/></system>', 1),
        ('<system version="1"/>', 1),
        ('<?xml version="1.0" encoding="UTF-7"?>\n<system version="1"/>', 1),
        (b'<system version="1">\n\xff</system>', 2),
        (SMALL.encode("utf-16"), 1),
        ("<system version='1'>" + "<cpu>" * 200 + "</cpu>" * 200 + "</system>", 1),
        ('<system version="1">\n<cpu numaid="&undefined;"/></system>', 2),
        ('<system version="1">\n<a:cpu xmlns:a="b" numaid="0"/></system>', 2),
        ('<system version="1" xmlns:a="b">\n<cpu a:numaid="0"/></system>', 2),
        ('<system version="1">' + "<cpu/>" * 10_000 + "</system>", 1),
    ],
    ids=[
        "bomb",
        "file",
        "cut",
        "empty",
        "root",
        "version",
        "no-cpu",
        "utf7",
        "latin1",
        "utf16",
        "deep",
        "entity",
        "tag",
        "attribute",
        "many",
    ],
)
def test_bad_files_name_their_line(text, line):
    with pytest.raises(InputError) as caught:
        xml.loads(text, "bad.xml")
    assert caught.value.line == line
    assert "bad.xml" in str(caught.value)


def test_a_file_too_large_is_refused():
    with pytest.raises(InputError, match="larger than"):
        xml.loads(b" " * ((16 << 20) + 1))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('busid="0000:01:00.0" ', "", 3),
        ('numaid="0"', 'numaid="zero"', 2),
        ('sm="80"', 'sm="eighty"', 4),
        ('link_width="16"', 'link_width="' + "9" * 30 + '"', 3),
        ('link_width="16"', 'link_width="-16"', 3),
        ('numaid="0"', 'numaid="0" affinity="xyz"', 2),
        ('<future thing="1"/>', '<nic><net dev="0" latency="inf"/></nic>', 6),
        ('<future thing="1"/>', '<nic><net dev="0" latency="nan"/></nic>', 6),
    ],
)
def test_contradictions_name_their_line(old, new, line):
    with pytest.raises(InputError) as caught:
        build_system(xml.loads(SMALL.replace(old, new)))
    assert caught.value.line == line


@pytest.mark.parametrize("wire", ['<nvlink target="0000:02:00.0" count="1"/>', '<c2c bw="1" count="1"/>'])
def test_a_gpu_below_a_nic_is_refused(wire):
    inside = f'<pci busid="0000:02:00.0" class="0x030200"><gpu dev="0" sm="80">{wire}</gpu></pci>'
    nic = f'<pci busid="0000:01:00.0" class="0x020000">\n{inside}</pci>'
    text = f'<system version="1"><cpu numaid="0">{nic}</cpu></system>'
    with pytest.raises(InputError, match="hangs on no CPU") as caught:
        build_system(xml.loads(text))
    assert caught.value.line == 2


def test_more_nodes_than_any_machine_has_are_refused_at_once():
    text = '<system version="1">' + "".join(f'<cpu numaid="{i}"/>\n' for i in range(600)) + "</system>"
    with pytest.raises(InputError, match="more than 576") as caught:
        build_system(xml.loads(text))
    assert caught.value.line == 577


FIXTURE = xml.dumps(load_machine("@h200x4").topology)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_mutation_does_more_than_raise_an_error(data):
    text = FIXTURE
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.sampled_from(["", "0", "-1", '"', "<", "/>", "gpu", "9" * 25])) + text[end:]
    with contextlib.suppress(Error):
        search(build_system(xml.loads(text)))
