# SPDX-License-Identifier: Apache-2.0
"""Graph XML: exact round trip, and files that do not fit the machine refused with a line."""

import pytest

from railgauge.topo import graph_xml, xml
from railgauge.topo.channels import Channel, search
from railgauge.topo.errors import InputError
from railgauge.topo.machine import load_machine
from railgauge.topo.system import build_system

SYSTEM = build_system(load_machine("@h200x4").topology)
TEXT = graph_xml.dumps(search(SYSTEM), SYSTEM)
INTER = graph_xml.dumps(search(SYSTEM, nodes=2), SYSTEM)
HOST = build_system(xml.loads('<system version="1"><cpu numaid="0" arch="x86_64"/></system>'), host_ranks=3)


@pytest.mark.parametrize("text", [TEXT, INTER])
def test_round_trip(text):
    assert graph_xml.dumps(graph_xml.loads(text, SYSTEM), SYSTEM) == text


def test_devs_are_written_as_nccl_does():
    assert '<gpu dev="0"/>\n      <gpu dev="0x1"/>' in TEXT
    assert '<net dev="0"/>\n      <gpu dev="0"/>' in INTER


def test_host_ranks_stand_where_gpus_would():
    graphs = search(HOST)
    text = graph_xml.dumps(graphs, HOST)
    assert '<gpu dev="0x2"/>' in text
    assert graph_xml.loads(text, HOST).ring.channels == graphs.ring.channels


def test_the_order_of_ranks_is_what_the_file_says():
    text = graph_xml.dumps(search(HOST), HOST)
    swapped = text.replace('dev="0x1"', "!").replace('dev="0x2"', 'dev="0x1"').replace("!", 'dev="0x2"')
    assert graph_xml.loads(swapped, HOST).ring.channels[0] == Channel(ranks=(0, 2, 1))


def test_a_file_without_a_tree_gets_one_on_the_ring():
    text = TEXT[: TEXT.index('  <graph id="1"')] + "</graphs>\n"
    graphs = graph_xml.loads(text, SYSTEM)
    assert graphs.tree.channels == graphs.ring.channels
    assert graphs.tree.pattern == 1


def test_other_graphs_are_kept():
    text = TEXT.replace('<graph id="3" pattern="5"', '<graph id="3" pattern="5" future="1"')
    assert graph_xml.dumps(graph_xml.loads(text, SYSTEM), SYSTEM) == text


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('<gpu dev="0x3"/>', '<gpu dev="0x9"/>', 7),
        ('<gpu dev="0x3"/>', '<gpu dev="0x2"/>', 7),
        ('      <gpu dev="0x3"/>\n', "", 3),
        ('<graphs version="1">', '<graphs version="2">', 1),
        ('nchannels="12"', 'nchannels="11"', 2),
        ('speedintra="30"', 'speedintra="0"', 2),
        ('speedintra="30"', 'speedintra="nan"', 2),
        ('typeintra="NVL"', 'typeintra="WARP"', 2),
        ('dev="0x3"', 'dev="three"', 7),
        ('<gpu dev="0"/>', '<net dev="0"/><gpu dev="0"/>', 3),
        ('graph id="0"', 'graph id="9"', 1),
        ("</graphs>", "", 154),
    ],
)
def test_files_that_do_not_fit_name_their_line(old, new, line):
    assert old in TEXT
    with pytest.raises(InputError) as caught:
        graph_xml.loads(TEXT.replace(old, new, 1), SYSTEM, "graph.txt")
    assert caught.value.line == line


def test_a_ring_without_channels_is_refused():
    text = '<graphs version="1">\n<graph id="0" pattern="4" nchannels="0" speedintra="1" speedinter="1"/>\n</graphs>'
    with pytest.raises(InputError, match="no channel"):
        graph_xml.loads(text, SYSTEM)
