# SPDX-License-Identifier: Apache-2.0
"""What NCCL's own parser does not read as XML means it, held against what NCCL 2.28.9 said."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.topo.findings.topology_file.topology_text import HEALTHY, findings

from railgauge.topo.errors import InputError
from railgauge.topo.findings.topology_file.nccl_parser import stumbles
from railgauge.topo.nccl.detect.topo_file import HOLDS
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.text import write

CASES = json.loads((Path(__file__).parents[2] / "nccl_topo_file.json").read_text())["cases"]
PARSER_SAYS = ("XML Parse", "Error : ")
CPU = '<cpu numaid="0"'


def test_what_nccl_takes_is_taken_and_what_it_refuses_is_refused():
    refused = {name for name, case in CASES.items() if any(s.fatal for s in stumbles(case["file"].encode()))}
    assert refused == {name for name, case in CASES.items() if (case["says"] or "").startswith(PARSER_SAYS)}


TAKEN_WITHOUT_EFFECT = {
    "long_domain": {"busid-spelling"},  # NCCL looked elsewhere
    "no_busid": {"attribute-missing"},
    "no_nvlink0": {"nvlink-missing"},  # a fault of the machine, which NCCL takes as it is
}


@pytest.mark.parametrize("name", CASES)
def test_fail_is_what_nccl_refuses_or_passes_over(tmp_path, name):
    try:
        failed = {f.id for f in findings(tmp_path, CASES[name]["file"]) if f.level == "FAIL"}
    except InputError:
        assert CASES[name]["dump"] is None or name == "dup_attr"  # which is no XML
        return
    if CASES[name]["dump"] is None:
        assert failed
    else:
        assert failed == TAKEN_WITHOUT_EFFECT.get(name, set())


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("\n  <cpu", "\n\t<cpu", 2, "a tab"),
        (CPU, '<cpu\n    numaid="0"', 2, "a line break"),
        (CPU, '<cpu\tnumaid="0"', 2, "'=' follows"),
        (CPU, '<cpu numaid = "0"', 2, "after '='"),
        (CPU, '<cpu numaid="0"\tcolour="red"', 2, "a tab"),
        ("</cpu>", "</cpu >", 15, "</cpu>"),
        ("<system", "<!--a=b--><system", 1, "'='"),
        (CPU, f'<cpu note="{"x" * 254}" numaid="0"', 2, "longer than 253"),
        ("<system", "\ufeff<system", 1, "a byte order mark between elements"),
        ("\n  <cpu", "\n\u00e9<cpu", 2, "'\u00e9' between elements"),
    ],
    ids=["tab", "line", "tab-name", "blanks", "tab-value", "closing", "comment", "long", "mark", "text"],
)
def test_good_xml_is_refused_where_nccl_stops(old, new, line, words):
    found = stumbles(HEALTHY.replace(old, new, 1).encode())
    assert [(s.line, s.fatal) for s in found] == [(line, True)]
    assert words in found[0].what


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (CPU, '<cpu  numaid="0"'),
        ('maxconn="131072" gdr="1"/>', 'maxconn="131072" gdr="1" />'),
        ("\n  <cpu", "\r\n  <!-- two\tsockets --><cpu"),
        (CPU, f'<cpu note="{"x" * 253}" numaid="0"'),
    ],
    ids=["two-blanks", "blank-before-end", "comment", "longest"],
)
def test_what_nccl_takes_is_no_stumble(old, new):
    assert stumbles(HEALTHY.replace(old, new, 1).encode()) == ()


@pytest.mark.parametrize(("count", "fatal"), [(254, False), (255, True)])
def test_the_table_of_256_must_not_be_full_when_the_file_ends(count, fatal):
    """One <system>, of which no <cpu> may hold more than 128."""
    cpus = "".join(f"<cpu>{'<pci/>' * 100}</cpu>" for _ in range(2)) + "<cpu/>" * (count - 202)
    found = stumbles(f"<system>{cpus}</system>".encode())
    assert [s.fatal for s in found] == [True] * fatal
    assert not fatal or "256 nodes" in found[0].what


def test_elements_that_nccl_skips_take_no_place():
    assert stumbles(f"<system><cpu>{'<rack><pci/></rack>' * 300}</cpu></system>".encode()) == ()


NAMES = st.text("abcdefghij_", min_size=1, max_size=8)
VALUES = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "Zs"), exclude_characters="&<>\"'"), max_size=20
)
ATTRIBUTES = st.dictionaries(NAMES, VALUES, max_size=5)


def elements(name, depth=4):
    children = [elements(child, depth - 1) for child in HOLDS.get(name, ())] if depth else []
    below = st.lists(st.one_of(children), max_size=3) if children else st.just([])
    return st.builds(
        lambda attributes, inside: Element(name=name, attributes=tuple(attributes.items()), children=tuple(inside)),
        ATTRIBUTES,
        below,
    )


@given(elements("system"))
def test_nccl_reads_all_that_we_write(element):
    assert stumbles(write(element).encode()) == ()


@given(st.binary(max_size=200))
def test_no_bytes_make_it_fail(data):
    assert all(stumble.line >= 1 for stumble in stumbles(data))
